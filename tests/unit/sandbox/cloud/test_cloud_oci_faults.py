"""What a stack meets when Oracle's simulated cloud does something wrong, and which account it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud_engine import Failed, Resource
from oracle_engine import COMPARTMENT, H100, OracleEngine, oracle_on

from sandbox.cloud import fault_orders
from sandbox.cloud.oci import command
from sandbox.cloud.oci.credentials import credentials, environment
from sandbox.cloud.oci.events import play_on
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root

VCN = {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.140.0.0/16"]}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[OracleEngine]:
    with oracle_on(tmp_path) as made:
        yield made


@pytest.fixture
def network(engine: OracleEngine) -> tuple[Resource, Resource, Resource]:
    return engine.network()


@pytest.fixture
def cluster(engine: OracleEngine, network: tuple[Resource, Resource, Resource]) -> Resource:
    return engine.up("Cluster", "one", engine.cluster_inputs(*network))


def gpu_machines(engine: OracleEngine, cluster: Resource, subnet: Resource) -> dict[str, Any]:
    return engine.cluster_network_inputs(engine.configuration(subnet, engine.metadata(cluster)), subnet)


@pytest.fixture
def subnet(network: tuple[Resource, Resource, Resource]) -> Resource:
    return network[1]


@pytest.mark.parametrize(("fault", "status"), [("rate-limited", 429), ("server-error", 500)])
def test_a_few_bad_answers_are_tried_again_and_many_are_an_error(engine: OracleEngine, fault: str, status: int) -> None:
    engine.order(fault, 7)
    assert engine.up("Vcn", "one", VCN).id
    engine.order(fault, 8)
    with pytest.raises(Failed, match=rf"{status}-.* \(8 tries\)\nOperation Name: CreateVcn\nOPC request ID: "):
        engine.up("Vcn", "two", VCN)


def failed_up(engine: OracleEngine, kind: str, name: str, inputs: dict[str, Any], limit_s: float = 0) -> Resource:
    """What the state keeps of a creation that fails."""
    with pytest.raises(Failed) as failed:
        engine.up(kind, name, inputs, limit_s)
    assert failed.value.kept is not None, failed.value
    return Resource(kind, name, failed.value.identifier, inputs, failed.value.kept)


def test_a_cluster_that_fails_stays_in_the_state_until_it_is_deleted_at_oracle(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource]
) -> None:
    engine.order("cluster-error", 1)
    inputs = engine.cluster_inputs(*network)
    kept = failed_up(engine, "Cluster", "one", inputs)
    assert [record["outputs"]["state"] for record in engine.api.store.list("cluster")] == ["FAILED"]
    assert engine.refresh(kept) is not None
    with pytest.raises(Failed, match="409-IncorrectState"):
        engine.update(kept, inputs)
    engine.api.store.remove("cluster", kept.id)
    assert engine.refresh(kept) is None
    assert engine.up("Cluster", "one", inputs).id


@pytest.mark.parametrize("limit_s", [1, 60])
def test_what_is_late_stays_in_the_state_and_the_next_up_goes_on_with_it(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], limit_s: float
) -> None:
    inputs = engine.cluster_inputs(*network)
    kept = failed_up(engine, "Cluster", "one", inputs, limit_s)
    assert kept.outputs["state"] == "CREATING"
    after = engine.update(kept, inputs)
    assert (after.id, after.outputs["state"]) == (kept.id, "ACTIVE")
    assert len(engine.api.store.list("cluster")) == 1
    made = engine.configuration(network[1], engine.metadata(after))
    late = failed_up(engine, "ClusterNetwork", "gpu", engine.cluster_network_inputs(made, network[1]), limit_s)
    assert engine.update(late, late.inputs).outputs["state"] == "RUNNING"
    engine.delete(late)
    assert engine.api.store.list("instance") == []


def test_a_pool_that_fails_is_gone_and_each_update_of_it_ends_with_404_until_a_refresh(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    both = {
        "NodePool": engine.node_pool_inputs(cluster, subnet),
        "ClusterNetwork": gpu_machines(engine, cluster, subnet),
    }
    for kind, inputs in both.items():
        engine.order("pool-fails", 1)
        kept = failed_up(engine, kind, "gpu", inputs)
        assert engine.api.store.list(kind.lower()) == []
        for _ in range(2):
            with pytest.raises(Failed, match=f"404-NotAuthorizedOrNotFound.*\n.*Update{kind}"):
                engine.update(kept, inputs)
        assert engine.refresh(kept) is None
        assert engine.up(kind, "gpu", inputs).id
    assert len(engine.api.store.list("instance")) == 2


def test_no_capacity_leaves_no_machine_behind(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    engine.order("out-of-capacity", 1)
    inputs = gpu_machines(engine, cluster, subnet)
    with pytest.raises(Failed, match="500-InternalError, Out of host capacity"):
        engine.up("ClusterNetwork", "gpu", inputs)
    assert engine.api.store.list("instance") == []
    made = engine.up("ClusterNetwork", "gpu", inputs)
    engine.order("out-of-capacity", 1)
    larger = {**inputs, "instancePools": [{**inputs["instancePools"][0], "size": 4}]}
    with pytest.raises(Failed, match="Out of host capacity"):
        engine.update(made, larger)
    assert len(engine.api.store.list("instance")) == 2


def test_no_capacity_for_gpus_does_not_hinder_a_pool_without_them(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.order("out-of-capacity", 1)
    assert engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet)).id


def test_machines_that_never_join_leave_the_cluster_without_nodes(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    engine.order("nodes-never-join", 1)
    made = engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))
    assert engine.names_of_nodes(cluster) == []
    engine.delete(made)
    engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))
    assert len(engine.names_of_nodes(cluster)) == 2


def test_an_image_that_does_not_fit_is_refused(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    engine.order("image-incompatible", 1)
    with pytest.raises(Failed, match=f"Shape {H100} is incompatible with image"):
        engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))


def test_an_images_shape_that_a_refresh_does_not_find_is_still_there(engine: OracleEngine) -> None:
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    image = engine.up("Image", "gpu", {"compartmentId": COMPARTMENT, "imageSourceDetails": source})
    inputs = {"compartmentId": COMPARTMENT, "imageId": image.id, "shapeName": H100}
    shape = engine.up("ShapeManagement", "gpu", inputs)
    engine.order("shape-on-another-page", 1)

    with pytest.raises(Failed, match=f"requested compatible shape {H100} does not exist"):
        engine.refresh(shape)
    assert engine.diff(shape, inputs).paths == ()
    found = engine.refresh(shape)
    assert found is not None
    assert found.inputs == shape.inputs
    engine.delete(shape)
    assert engine.refresh(shape) is None


def test_a_pool_that_never_gets_ready_ends_with_its_time_limit(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.order("pool-never-ready", 1)
    kept = failed_up(engine, "NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    assert [record["outputs"]["state"] for record in engine.api.store.list("nodepool")] == ["CREATING"]
    assert len(engine.update(kept, kept.inputs).outputs["nodes"]) == 1


def test_a_stuck_add_on_ends_with_its_time_limit(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    engine.order("addon-stuck", 1)
    with pytest.raises(Failed, match="add-on CoreDNS: NEEDS_ATTENTION"):
        engine.up(
            "Addon", "dns", {"clusterId": cluster.id, "addonName": "CoreDNS", "removeAddonResourcesOnDelete": True}
        )


def test_an_add_on_is_refused_while_another_change_is_under_way(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    inputs = {"clusterId": cluster.id, "addonName": "CoreDNS", "removeAddonResourcesOnDelete": True}
    engine.order("addon-busy", 1)
    with pytest.raises(Failed, match="409-IncorrectState"):
        engine.up("Addon", "dns", inputs)
    assert engine.up("Addon", "dns", inputs).id


def test_machines_that_somebody_terminates_are_made_anew_and_try_to_join_again(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    engine.order("nodes-never-join", 1)
    engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))
    before = {machine["id"] for machine in engine.api.store.list("instance")}
    assert engine.names_of_nodes(cluster) == []
    play_on(engine.api, "unjoined-terminated")
    assert before.isdisjoint(machine["id"] for machine in engine.api.store.list("instance"))
    assert len(engine.names_of_nodes(cluster)) == 2
    assert play_on(engine.api, "unjoined-terminated") == "replaced: no machine"


def test_an_instance_configuration_that_somebody_elses_pool_uses_is_not_deleted(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    configuration = engine.configuration(subnet, engine.metadata(cluster))
    play_on(engine.api, "configuration-used")
    with pytest.raises(Failed, match=r"409-Conflict, The Instance Configuration \S+ is associated to one or more"):
        engine.delete(configuration)
    play_on(engine.api, "configuration-released")
    engine.delete(configuration)
    assert engine.api.store.list("instanceconfiguration") == []


def test_identity_is_changed_in_the_home_region_only(engine: OracleEngine) -> None:
    engine.order("not-home-region", 1)
    statement = "Allow any-user to {CLUSTER_JOIN} in tenancy"
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    with pytest.raises(Failed, match="403-NotAllowed"):
        engine.up("Policy", "p", given)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("Let them join", "is not a statement"),
        ("Allow dynamic-group x to {CLUSTER_JOIN} in tenancy", "no dynamic group x"),
    ],
)
def test_a_policy_of_which_nothing_can_come_is_refused(engine: OracleEngine, statement: str, message: str) -> None:
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    with pytest.raises(Failed, match=message):
        engine.up("Policy", "p", given)


def test_a_dynamic_group_lies_in_the_tenancy_and_has_its_name_alone(engine: OracleEngine) -> None:
    given = {"compartmentId": COMPARTMENT, "name": "nodes", "description": "d", "matchingRule": "ALL {}"}
    with pytest.raises(Failed, match="is in the tenancy"):
        engine.up("DynamicGroup", "nodes", given)
    good = {**given, "compartmentId": engine.api.account.tenancy}
    made = engine.up("DynamicGroup", "nodes", good)
    assert made.id.startswith("ocid1.dynamicgroup.oc1..")
    with pytest.raises(Failed, match="409-Conflict, nodes exists already"):
        engine.up("DynamicGroup", "nodes", good)
    assert engine.diff(made, {**good, "matchingRule": "ANY {}"}).replaces == ()
    assert engine.diff(made, {**good, "name": "other"}).replaces == ("name",)


def test_an_administrators_policies_let_machines_join(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    play_on(engine.api, "policies-given")
    engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))
    assert len(engine.names_of_nodes(cluster)) == 2


def test_a_machine_that_is_lost_is_made_anew(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    play_on(engine.api, "policies-given")
    engine.up("ClusterNetwork", "gpu", gpu_machines(engine, cluster, subnet))
    before = engine.names_of_nodes(cluster)
    assert play_on(engine.api, "node-lost").startswith("replaced: 10.140.")
    after = engine.names_of_nodes(cluster)
    assert len(after) == 2
    assert len(set(before) & set(after)) == 1


def test_a_cluster_deleted_elsewhere_drops_out_of_the_state_on_refresh(engine: OracleEngine, cluster: Resource) -> None:
    assert play_on(engine.api, "cluster-gone") == "deleted: one"
    assert engine.refresh(cluster) is None


def test_faults_of_one_cloud_say_which(tmp_path: Path) -> None:
    assert fault_orders.names()["out-of-capacity"].endswith("[oci]")
    assert "1 times" in fault_orders.add(SandboxHome(tmp_path), "out-of-capacity")


def settings(engine: OracleEngine) -> dict[str, str]:
    account = engine.api.account
    return {
        "tenancyOcid": account.tenancy,
        "userOcid": account.user,
        "fingerprint": account.fingerprint,
        "privateKey": account.key_file.read_text(),
        "region": "eu-frankfurt-1",
    }


def test_the_provider_takes_the_sandboxs_account_and_works_in_its_region(engine: OracleEngine) -> None:
    engine.configure(**settings(engine))
    assert engine.up("Vcn", "one", VCN).id.startswith("ocid1.vcn.oc1.fra.")
    assert "EU-FRANKFURT-1-AD-1" in engine.domain


@pytest.mark.parametrize(
    "change",
    [
        {"tenancyOcid": "ocid1.tenancy.oc1..real"},
        {"userOcid": "ocid1.user.oc1..real"},
        {"fingerprint": "00:11"},
        {"privateKey": "-----BEGIN RSA PRIVATE KEY-----\nreal\n"},
        {"privateKey": "", "privateKeyPath": "/etc/hostname"},
        {"auth": "InstancePrincipal"},
    ],
)
def test_the_provider_takes_no_other_account(engine: OracleEngine, change: dict[str, str]) -> None:
    with pytest.raises(Failed, match="takes no other account than its own") as refused:
        engine.configure(**{**settings(engine), **change})
    assert "real" not in str(refused.value).replace("real one", "")


def test_a_region_that_is_none_is_refused(engine: OracleEngine) -> None:
    with pytest.raises(Failed, match="there is no region moon-1"):
        engine.configure(**{**settings(engine), "region": "moon-1"})


def test_nobody_else_reads_the_accounts_key_and_it_is_in_no_variable(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    account = credentials(home)
    assert account == credentials(home)
    assert account.key_file.stat().st_mode & 0o777 == 0o600
    secret = account.key_file.read_text().strip()
    assert not any(secret in value for value in environment(home).values())


def test_the_stand_in_for_the_command_knows_one_command_and_one_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = SandboxHome(tmp_path)
    arguments = ["ce", "cluster", "generate-token", "--cluster-id", "one", "--region", "us-ashburn-1"]
    with pytest.raises(SandboxError, match="does not name the configuration"):
        command.answer(arguments, {}, home)
    with pytest.raises(SandboxError, match="knows no other command"):
        command.answer(["iam", "user", "list"], environment(home), home)
    with pytest.raises(SandboxError, match="there is no simulated cluster"):
        command.answer(arguments, environment(home), home)


def test_the_plug_in_starts_and_says_its_port(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.cloud", "oci"],
        cwd=project_root(),
        env={**os.environ, "GPU_FABRIC_SANDBOX": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0
    assert json.loads((tmp_path / "cloud" / "oci" / "account.json").read_text())["tenancy"].startswith("ocid1.tenancy.")
