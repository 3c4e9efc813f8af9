"""What a stack meets when Oracle's simulated cloud does something wrong, and which account it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cloud_engine import Failed, Resource
from oracle_engine import COMPARTMENT, H100, OracleEngine

from sandbox.cloud import fault_orders
from sandbox.cloud.oci import command
from sandbox.cloud.oci.credentials import credentials, environment
from sandbox.cloud.oci.events import play_on
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root

VCN = {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.140.0.0/16"]}


def gpu_machines(oke: OracleEngine) -> dict[str, Any]:
    return oke.cluster_network_inputs(oke.configuration(oke.subnet, oke.metadata()), oke.subnet)


@pytest.mark.parametrize(("fault", "status"), [("rate-limited", 429), ("server-error", 500)])
def test_a_few_bad_answers_are_tried_again_and_many_are_an_error(oracle: OracleEngine, fault: str, status: int) -> None:
    oracle.order(fault, 7)
    assert oracle.up("Vcn", "one", VCN).id
    oracle.order(fault, 8)
    with pytest.raises(Failed, match=rf"{status}-.* \(8 tries\)\nOperation Name: CreateVcn\nOPC request ID: "):
        oracle.up("Vcn", "two", VCN)


def failed_up(oracle: OracleEngine, kind: str, name: str, inputs: dict[str, Any], limit_s: float = 0) -> Resource:
    """What the state keeps of a creation that fails."""
    with pytest.raises(Failed) as failed:
        oracle.up(kind, name, inputs, limit_s)
    assert failed.value.kept is not None, failed.value
    return Resource(kind, name, failed.value.identifier, inputs, failed.value.kept)


def test_a_cluster_that_fails_stays_in_the_state_until_it_is_deleted_at_oracle(oci: OracleEngine) -> None:
    oci.order("cluster-error", 1)
    inputs = oci.new_cluster()
    kept = failed_up(oci, "Cluster", "one", inputs)
    assert [record["outputs"]["state"] for record in oci.api.store.list("cluster")] == ["FAILED"]
    assert oci.refresh(kept) is not None
    with pytest.raises(Failed, match="409-IncorrectState"):
        oci.update(kept, inputs)
    oci.api.store.remove("cluster", kept.id)
    assert oci.refresh(kept) is None
    assert oci.up("Cluster", "one", inputs).id


@pytest.mark.parametrize("limit_s", [1, 60])
def test_what_is_late_stays_in_the_state_and_the_next_up_goes_on_with_it(oci: OracleEngine, limit_s: float) -> None:
    inputs = oci.new_cluster()
    kept = failed_up(oci, "Cluster", "one", inputs, limit_s)
    assert kept.outputs["state"] == "CREATING"
    after = oci.update(kept, inputs)
    assert (after.id, after.outputs["state"]) == (kept.id, "ACTIVE")
    assert len(oci.api.store.list("cluster")) == 1
    made = oci.configuration(oci.parts[1], oci.metadata(after))
    late = failed_up(oci, "ClusterNetwork", "gpu", oci.cluster_network_inputs(made, oci.parts[1]), limit_s)
    assert oci.update(late, late.inputs).outputs["state"] == "RUNNING"
    oci.delete(late)
    assert oci.api.store.list("instance") == []


def test_a_pool_that_fails_is_gone_and_each_update_of_it_ends_with_404_until_a_refresh(oke: OracleEngine) -> None:
    both = {
        "NodePool": oke.pool_inputs(),
        "ClusterNetwork": gpu_machines(oke),
    }
    for kind, inputs in both.items():
        oke.order("pool-fails", 1)
        kept = failed_up(oke, kind, "gpu", inputs)
        assert oke.api.store.list(kind.lower()) == []
        for _ in range(2):
            with pytest.raises(Failed, match=f"404-NotAuthorizedOrNotFound.*\n.*Update{kind}"):
                oke.update(kept, inputs)
        assert oke.refresh(kept) is None
        assert oke.up(kind, "gpu", inputs).id
    assert len(oke.api.store.list("instance")) == 2


def test_no_capacity_leaves_no_machine_behind(oke: OracleEngine) -> None:
    oke.order("out-of-capacity", 1)
    inputs = gpu_machines(oke)
    with pytest.raises(Failed, match="500-InternalError, Out of host capacity"):
        oke.up("ClusterNetwork", "gpu", inputs)
    assert oke.api.store.list("instance") == []
    made = oke.up("ClusterNetwork", "gpu", inputs)
    oke.order("out-of-capacity", 1)
    larger = {**inputs, "instancePools": [{**inputs["instancePools"][0], "size": 4}]}
    with pytest.raises(Failed, match="Out of host capacity"):
        oke.update(made, larger)
    assert len(oke.api.store.list("instance")) == 2


def test_no_capacity_for_gpus_does_not_hinder_a_pool_without_them(oke: OracleEngine) -> None:
    oke.order("out-of-capacity", 1)
    assert oke.up("NodePool", "system", oke.pool_inputs()).id


def test_machines_that_never_join_leave_the_cluster_without_nodes(oke: OracleEngine) -> None:
    oke.allow()
    oke.order("nodes-never-join", 1)
    made = oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    assert oke.names() == []
    oke.delete(made)
    oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    assert len(oke.names()) == 2


def test_an_image_that_does_not_fit_is_refused(oke: OracleEngine) -> None:
    oke.order("image-incompatible", 1)
    with pytest.raises(Failed, match=f"Shape {H100} is incompatible with image"):
        oke.up("ClusterNetwork", "gpu", gpu_machines(oke))


def test_an_images_shape_that_a_refresh_does_not_find_is_still_there(oracle: OracleEngine) -> None:
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    image = oracle.up("Image", "gpu", {"compartmentId": COMPARTMENT, "imageSourceDetails": source})
    inputs = {"compartmentId": COMPARTMENT, "imageId": image.id, "shapeName": H100}
    shape = oracle.up("ShapeManagement", "gpu", inputs)
    oracle.order("shape-on-another-page", 1)

    with pytest.raises(Failed, match=f"requested compatible shape {H100} does not exist"):
        oracle.refresh(shape)
    assert oracle.diff(shape, inputs).paths == ()
    found = oracle.refresh(shape)
    assert found is not None
    assert found.inputs == shape.inputs
    oracle.delete(shape)
    assert oracle.refresh(shape) is None


def test_a_pool_that_never_gets_ready_ends_with_its_time_limit(oke: OracleEngine) -> None:
    oke.order("pool-never-ready", 1)
    kept = failed_up(oke, "NodePool", "system", oke.pool_inputs())
    assert [record["outputs"]["state"] for record in oke.api.store.list("nodepool")] == ["CREATING"]
    assert len(oke.update(kept, kept.inputs).outputs["nodes"]) == 1


def test_a_stuck_add_on_ends_with_its_time_limit(oke: OracleEngine) -> None:
    oke.up("NodePool", "system", oke.pool_inputs())
    oke.order("addon-stuck", 1)
    with pytest.raises(Failed, match="add-on CoreDNS: NEEDS_ATTENTION"):
        oke.up(
            "Addon", "dns", {"clusterId": oke.cluster.id, "addonName": "CoreDNS", "removeAddonResourcesOnDelete": True}
        )


def test_an_add_on_is_refused_while_another_change_is_under_way(oke: OracleEngine) -> None:
    oke.up("NodePool", "system", oke.pool_inputs())
    inputs = {"clusterId": oke.cluster.id, "addonName": "CoreDNS", "removeAddonResourcesOnDelete": True}
    oke.order("addon-busy", 1)
    with pytest.raises(Failed, match="409-IncorrectState"):
        oke.up("Addon", "dns", inputs)
    assert oke.up("Addon", "dns", inputs).id


def test_machines_that_somebody_terminates_are_made_anew_and_try_to_join_again(oke: OracleEngine) -> None:
    oke.allow()
    oke.order("nodes-never-join", 1)
    oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    before = {machine["id"] for machine in oke.api.store.list("instance")}
    assert oke.names() == []
    play_on(oke.api, "unjoined-terminated")
    assert before.isdisjoint(machine["id"] for machine in oke.api.store.list("instance"))
    assert len(oke.names()) == 2
    assert play_on(oke.api, "unjoined-terminated") == "replaced: no machine"


def test_an_instance_configuration_that_somebody_elses_pool_uses_is_not_deleted(oke: OracleEngine) -> None:
    configuration = oke.configuration(oke.subnet, oke.metadata())
    play_on(oke.api, "configuration-used")
    with pytest.raises(Failed, match=r"409-Conflict, The Instance Configuration \S+ is associated to one or more"):
        oke.delete(configuration)
    play_on(oke.api, "configuration-released")
    oke.delete(configuration)
    assert oke.api.store.list("instanceconfiguration") == []


def test_identity_is_changed_in_the_home_region_only(oracle: OracleEngine) -> None:
    oracle.order("not-home-region", 1)
    statement = "Allow any-user to {CLUSTER_JOIN} in tenancy"
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    with pytest.raises(Failed, match="403-NotAllowed"):
        oracle.up("Policy", "p", given)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("Let them join", "is not a statement"),
        ("Allow dynamic-group x to {CLUSTER_JOIN} in tenancy", "no dynamic group x"),
    ],
)
def test_a_policy_of_which_nothing_can_come_is_refused(oracle: OracleEngine, statement: str, message: str) -> None:
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    with pytest.raises(Failed, match=message):
        oracle.up("Policy", "p", given)


def test_a_dynamic_group_lies_in_the_tenancy_and_has_its_name_alone(oracle: OracleEngine) -> None:
    given = {"compartmentId": COMPARTMENT, "name": "nodes", "description": "d", "matchingRule": "ALL {}"}
    with pytest.raises(Failed, match="is in the tenancy"):
        oracle.up("DynamicGroup", "nodes", given)
    good = {**given, "compartmentId": oracle.api.account.tenancy}
    made = oracle.up("DynamicGroup", "nodes", good)
    assert made.id.startswith("ocid1.dynamicgroup.oc1..")
    with pytest.raises(Failed, match="409-Conflict, nodes exists already"):
        oracle.up("DynamicGroup", "nodes", good)
    assert oracle.diff(made, {**good, "matchingRule": "ANY {}"}).replaces == ()
    assert oracle.diff(made, {**good, "name": "other"}).replaces == ("name",)


def test_an_administrators_policies_let_machines_join(oke: OracleEngine) -> None:
    play_on(oke.api, "policies-given")
    oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    assert len(oke.names()) == 2


def test_a_machine_that_is_lost_is_made_anew(oke: OracleEngine) -> None:
    play_on(oke.api, "policies-given")
    oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    before = oke.names()
    assert play_on(oke.api, "node-lost").startswith("replaced: 10.140.")
    after = oke.names()
    assert len(after) == 2
    assert len(set(before) & set(after)) == 1


def test_a_cluster_deleted_elsewhere_drops_out_of_the_state_on_refresh(oke: OracleEngine) -> None:
    assert play_on(oke.api, "cluster-gone") == "deleted: one"
    assert oke.refresh(oke.cluster) is None


def test_faults_of_one_cloud_say_which(tmp_path: Path) -> None:
    assert fault_orders.names()["out-of-capacity"].endswith("[oci]")
    assert "1 times" in fault_orders.add(SandboxHome(tmp_path), "out-of-capacity")


def settings(oracle: OracleEngine) -> dict[str, str]:
    account = oracle.api.account
    return {
        "tenancyOcid": account.tenancy,
        "userOcid": account.user,
        "fingerprint": account.fingerprint,
        "privateKey": account.key_file.read_text(),
        "region": "eu-frankfurt-1",
    }


def test_the_provider_takes_the_sandboxs_account_and_works_in_its_region(oracle: OracleEngine) -> None:
    oracle.configure(**settings(oracle))
    assert oracle.up("Vcn", "one", VCN).id.startswith("ocid1.vcn.oc1.fra.")
    assert "EU-FRANKFURT-1-AD-1" in oracle.domain


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
def test_the_provider_takes_no_other_account(oracle: OracleEngine, change: dict[str, str]) -> None:
    with pytest.raises(Failed, match="takes no other account than its own") as refused:
        oracle.configure(**{**settings(oracle), **change})
    assert "real" not in str(refused.value).replace("real one", "")


def test_a_region_that_is_none_is_refused(oracle: OracleEngine) -> None:
    with pytest.raises(Failed, match="there is no region moon-1"):
        oracle.configure(**{**settings(oracle), "region": "moon-1"})


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
