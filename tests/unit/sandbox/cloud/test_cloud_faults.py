"""What a stack meets when a simulated cloud does something wrong: how it ends, what is left, what puts it right."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cloud_engine import Engine, Failed, Resource, engine_on
from digitalocean_inputs import INPUTS, gpu_pool, refreshed
from google.protobuf import empty_pb2
from oracle_engine import COMPARTMENT, H100, OracleEngine

from sandbox.cloud import fault_orders
from sandbox.cloud.digitalocean.events import play_on
from sandbox.cloud.faults import Faults
from sandbox.cloud.oci.events import play_on as play_at_oracle
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

Inputs = dict[str, Any]
VPC = {"name": "net", "region": "nyc2", "ipRange": "10.20.0.0/20"}
TWO = {**INPUTS, "name": "two"}
VCN = {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.150.0.0/16"]}
JOIN = {"name": "p", "description": "d", "statements": ["Allow any-user to {CLUSTER_JOIN} in tenancy"]}


@pytest.mark.parametrize(
    ("fault", "times", "kind", "message"),
    [
        ("rate-limited", 4, "Vpc", None),
        ("rate-limited", 5, "Vpc", r"POST .*/v2/vpcs: 429 .*giving up after 5 attempt\(s\)"),
        ("server-error", 4, "Vpc", None),
        ("server-error", 5, "Vpc", r"POST .*/v2/vpcs: 500 .*giving up after 5 attempt\(s\)"),
        ("contract-missing", 1, "KubernetesNodePool", ": 422 .*no contract"),
        ("contract-missing", 1, "KubernetesCluster", None),
        ("not-enough-quota", 1, "KubernetesNodePool", ": 422 .*droplet limit"),
    ],
)
def test_digitalocean_refuses_a_request_as_often_as_ordered_and_leaves_nothing(
    engine: Engine, cluster: Resource, fault: str, times: int, kind: str, message: str | None
) -> None:
    inputs = {"Vpc": VPC, "KubernetesNodePool": gpu_pool(cluster), "KubernetesCluster": TWO}[kind]
    engine.order(fault, times)
    if message is not None:
        with pytest.raises(Failed, match=message):
            engine.up(kind, "two", inputs)
    assert engine.up(kind, "two", inputs).id


@pytest.mark.parametrize(
    ("fault", "kind", "message", "taken"),
    [
        ("cluster-error", "KubernetesCluster",
            "Error creating Kubernetes cluster: the cluster could not be provisioned",
            "a cluster with the name two exists"),
        ("pool-never-ready", "KubernetesNodePool",
            "Error creating Kubernetes node pool: Timeout waiting to create nodepool",
            "a node pool with the name gpu exists"),
    ],
)  # fmt: skip
def test_what_fails_at_digitalocean_stays_behind_outside_the_state_and_keeps_its_name(
    engine: Engine, cluster: Resource, fault: str, kind: str, message: str, taken: str
) -> None:
    inputs = gpu_pool(cluster) if kind == "KubernetesNodePool" else TWO
    engine.order(fault, 1)
    with pytest.raises(Failed, match=message) as error:
        engine.up(kind, "two", inputs)
    assert error.value.kept is None
    with pytest.raises(Failed, match=f"422 .*{taken}"):
        engine.up(kind, "two", inputs)


def test_the_number_of_retries_is_the_providers_to_set(engine: Engine) -> None:
    engine.configure(token=engine.api.account_token, httpRetryMax="0")
    engine.order("server-error", 1)
    with pytest.raises(Failed, match=r": 500 \(request"):
        engine.up("Vpc", "net", VPC)


def test_a_cluster_whose_time_limit_ends_stays_behind_and_can_be_imported(engine: Engine) -> None:
    with pytest.raises(Failed, match="Timeout waiting to create cluster"):
        engine.up("KubernetesCluster", "one", INPUTS, limit_s=60)
    [left] = engine.api.store.list("clusters")
    found = engine.imported("KubernetesCluster", left["id"])
    assert found is not None
    assert engine.diff(found, INPUTS).paths == ()


def test_a_busy_network_is_deleted_when_the_time_limit_is_the_longer_one(engine: Engine, oke: OracleEngine) -> None:
    vpc = engine.up("Vpc", "net", VPC)
    engine.order("vpc-busy", 1_000_000)  # half a minute, so that no pause of this machine outlasts it
    with pytest.raises(Failed, match=r"409 .*Can not delete VPC with members"):
        engine.delete(vpc)
    engine.order("vpc-busy", 300)
    engine.delete(vpc, limit_s=1_000_000)
    assert engine.refresh(vpc) is None

    oke.delete(oke.cluster)
    oke.order("subnet-busy", 1_000_000)
    with pytest.raises(Failed, match="409-Conflict"):
        oke.delete(oke.subnet, limit_s=900)
    other = oke.up("Subnet", "two", {**oke.subnet.inputs, "cidrBlock": "10.140.1.0/24", "dnsLabel": "two"})
    oke.order("subnet-busy", 300)
    oke.delete(other, limit_s=1_000_000)
    assert oke.refresh(other) is None


def test_expired_credentials_come_back_with_a_refresh_and_by_nothing_else(engine: Engine, cluster: Resource) -> None:
    old = cluster.outputs["kubeConfigs"][0]
    assert refreshed(engine, cluster).outputs["kubeConfigs"][0] == old
    assert "have expired" in play_on(engine.api, "credentials-expired")
    assert engine.diff(cluster, INPUTS).paths == ()
    new = refreshed(engine, cluster).outputs["kubeConfigs"][0]
    assert new["token"] != old["token"]
    assert new["expiresAt"] > old["expiresAt"]


def test_a_version_raised_elsewhere_threatens_the_cluster_with_replacement_unless_it_is_ignored(
    engine: Engine, cluster: Resource
) -> None:
    assert play_on(engine.api, "version-bumped") == "one has version 1.35.6-do.0"
    assert engine.diff(cluster, INPUTS).paths == ()
    after = refreshed(engine, cluster)
    assert engine.diff(after, INPUTS).replaces == ("version",)
    assert engine.diff(after, INPUTS, ignore=["version"]).paths == ()


def test_a_cluster_deleted_elsewhere_drops_out_of_the_state_on_refresh(
    engine: Engine, cluster: Resource, oke: OracleEngine
) -> None:
    pool = engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    assert play_on(engine.api, "cluster-gone") == "deleted: one"
    assert engine.refresh(cluster) is engine.refresh(pool) is None
    of_oracle = oke.up("NodePool", "system", oke.pool_inputs())
    assert play_at_oracle(oke.api, "cluster-gone") == "deleted: one"
    assert oke.refresh(oke.cluster) is oke.refresh(of_oracle) is None


def test_an_autoscaled_pool_has_another_node_after_a_refresh(engine: Engine, cluster: Resource) -> None:
    inputs = gpu_pool(cluster, autoScale=True, minNodes=1, maxNodes=4)
    pool = engine.up("KubernetesNodePool", "gpu", inputs)
    assert play_on(engine.api, "pool-resized") == "gpu has 3 nodes"
    after = refreshed(engine, pool)
    assert [node["status"] for node in after.outputs["nodes"]] == ["running"] * 3
    assert engine.diff(after, {**inputs, "nodeCount": 3}).paths == ()


def test_a_lost_tag_of_the_default_pool_leaves_the_state_as_it_is(engine: Engine, cluster: Resource) -> None:
    play_on(engine.api, "default-tag-lost")
    assert refreshed(engine, cluster).outputs["nodePool"] == cluster.outputs["nodePool"]


def test_a_run_that_is_ended_does_not_wait_for_the_cloud(tmp_path: Path) -> None:
    with engine_on(tmp_path, minute_s=5.0) as engine, ThreadPoolExecutor() as threads:
        vpc = engine.up("Vpc", "net", VPC)
        engine.order("vpc-busy", 100 * 60)
        deletion = threads.submit(engine.delete, vpc, 100 * 60)
        engine.stub.Cancel(empty_pb2.Empty())
        with pytest.raises(Failed, match="cancelled"):
            deletion.result(timeout=20)


def gpu_machines(oke: OracleEngine, size: int = 2) -> Inputs:
    return oke.cluster_network_inputs(oke.configuration(oke.subnet, oke.metadata()), oke.subnet, size)


def addon(oke: OracleEngine) -> Inputs:
    oke.up("NodePool", "system", oke.pool_inputs())
    return {"clusterId": oke.cluster.id, "addonName": "CoreDNS", "removeAddonResourcesOnDelete": True}


MADE: dict[str, Callable[[OracleEngine], Inputs]] = {
    "Vcn": lambda oke: VCN,
    "Cluster": lambda oke: oke.new_cluster(),
    "NodePool": lambda oke: oke.pool_inputs(),
    "ClusterNetwork": gpu_machines,
    "Addon": addon,
    "Policy": lambda oke: {"compartmentId": COMPARTMENT, **JOIN},
}


@pytest.mark.parametrize(
    ("fault", "times", "kind", "message"),
    [
        ("rate-limited", 7, "Vcn", None),
        ("rate-limited", 8, "Vcn", r"429-.* \(8 tries\)\nOperation Name: CreateVcn\nOPC request ID: "),
        ("server-error", 7, "Vcn", None),
        ("server-error", 8, "Vcn", r"500-.* \(8 tries\)\nOperation Name: CreateVcn\nOPC request ID: "),
        ("out-of-capacity", 1, "ClusterNetwork", "500-InternalError, Out of host capacity"),
        ("out-of-capacity", 1, "NodePool", None),
        ("image-incompatible", 1, "ClusterNetwork", f"Shape {H100} is incompatible with image"),
        ("addon-busy", 1, "Addon", "409-IncorrectState"),
        ("not-home-region", 1, "Policy", "403-NotAllowed"),
    ],
)
def test_oracle_refuses_a_request_as_often_as_ordered_and_leaves_nothing(
    oke: OracleEngine, fault: str, times: int, kind: str, message: str | None
) -> None:
    inputs = MADE[kind](oke)
    before = len(oke.api.store.list("instance"))
    oke.order(fault, times)
    if message is not None:
        with pytest.raises(Failed, match=message):
            oke.up(kind, "two", inputs)
        assert len(oke.api.store.list("instance")) == before
    assert oke.up(kind, "two", inputs).id


def test_without_capacity_a_cluster_network_stays_as_it_is(oke: OracleEngine) -> None:
    made = oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    oke.order("out-of-capacity", 1)
    with pytest.raises(Failed, match="Out of host capacity"):
        oke.update(made, gpu_machines(oke, 4))
    assert len(oke.api.store.list("instance")) == 2


def failed_up(oracle: OracleEngine, kind: str, inputs: Inputs, limit_s: float = 0) -> Resource:
    """What the state keeps of a creation that fails."""
    with pytest.raises(Failed) as failed:
        oracle.up(kind, "two", inputs, limit_s)
    assert failed.value.kept is not None, failed.value
    return Resource(kind, "two", failed.value.identifier, inputs, failed.value.kept)


def test_a_cluster_that_fails_stays_in_the_state_until_it_is_deleted_at_oracle(oke: OracleEngine) -> None:
    oke.order("cluster-error", 1)
    inputs = oke.new_cluster()
    kept = failed_up(oke, "Cluster", inputs)
    assert [record["outputs"]["state"] for record in oke.api.store.list("cluster") if record["id"] == kept.id] == [
        "FAILED"
    ]
    with pytest.raises(Failed, match="409-IncorrectState"):
        oke.update(kept, inputs)
    oke.api.store.remove("cluster", kept.id)
    assert oke.refresh(kept) is None
    assert oke.up("Cluster", "two", inputs).id


@pytest.mark.parametrize(
    ("kind", "fault", "limit_s", "state"),
    [
        ("Cluster", None, 1, "ACTIVE"),
        ("Cluster", None, 60, "ACTIVE"),
        ("ClusterNetwork", None, 60, "RUNNING"),
        ("NodePool", "pool-never-ready", 0, "ACTIVE"),
    ],
)
def test_what_is_late_stays_in_the_state_and_the_next_up_goes_on_with_it(
    oke: OracleEngine, kind: str, fault: str | None, limit_s: float, state: str
) -> None:
    inputs = MADE[kind](oke)
    if fault is not None:
        oke.order(fault, 1)
    before = len(oke.api.store.list(kind.lower()))
    kept = failed_up(oke, kind, inputs, limit_s)
    after = oke.update(kept, inputs)
    assert (kept.outputs["state"], after.outputs["state"], after.id) == ("CREATING", state, kept.id)
    assert len(oke.api.store.list(kind.lower())) == before + 1
    oke.delete(after)
    assert oke.api.store.list("instance") == []


@pytest.mark.parametrize("kind", ["NodePool", "ClusterNetwork"])
def test_a_pool_that_fails_is_gone_and_each_update_of_it_ends_with_404_until_a_refresh(
    oke: OracleEngine, kind: str
) -> None:
    inputs = MADE[kind](oke)
    oke.order("pool-fails", 1)
    kept = failed_up(oke, kind, inputs)
    assert oke.api.store.list(kind.lower()) == []
    for _ in range(2):
        with pytest.raises(Failed, match=f"404-NotAuthorizedOrNotFound.*\n.*Update{kind}"):
            oke.update(kept, inputs)
    assert oke.refresh(kept) is None
    assert oke.up(kind, "two", inputs).id


def test_a_stuck_add_on_ends_with_its_time_limit(oke: OracleEngine) -> None:
    inputs = addon(oke)
    oke.order("addon-stuck", 1)
    with pytest.raises(Failed, match="add-on CoreDNS: NEEDS_ATTENTION"):
        oke.up("Addon", "dns", inputs)


def test_an_images_shape_that_a_refresh_does_not_find_is_still_there(oracle: OracleEngine) -> None:
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    image = oracle.up("Image", "gpu", {"compartmentId": COMPARTMENT, "imageSourceDetails": source})
    inputs = {"compartmentId": COMPARTMENT, "imageId": image.id, "shapeName": H100}
    shape = oracle.up("ShapeManagement", "gpu", inputs)
    oracle.order("shape-on-another-page", 1)

    with pytest.raises(Failed, match=f"requested compatible shape {H100} does not exist"):
        oracle.refresh(shape)
    found = oracle.refresh(shape)
    assert found is not None
    assert found.inputs == shape.inputs
    oracle.delete(shape)
    assert oracle.refresh(shape) is None


def test_machines_that_have_not_joined_are_terminated_and_their_successors_join(oke: OracleEngine) -> None:
    play_at_oracle(oke.api, "policies-given")
    oke.order("nodes-never-join", 1)
    oke.up("ClusterNetwork", "gpu", gpu_machines(oke))
    before = {machine["id"] for machine in oke.api.store.list("instance")}
    assert oke.names() == []
    play_at_oracle(oke.api, "unjoined-terminated")
    assert before.isdisjoint(machine["id"] for machine in oke.api.store.list("instance"))
    joined = oke.names()
    assert play_at_oracle(oke.api, "unjoined-terminated") == "replaced: no machine"
    assert play_at_oracle(oke.api, "node-lost").startswith("replaced: 10.140.")
    assert (len(joined), len(oke.names()), len({*joined} & {*oke.names()})) == (2, 2, 1)


def test_an_instance_configuration_that_somebody_elses_pool_uses_is_not_deleted(oke: OracleEngine) -> None:
    configuration = oke.configuration(oke.subnet, oke.metadata())
    play_at_oracle(oke.api, "configuration-used")
    with pytest.raises(Failed, match=r"409-Conflict, The Instance Configuration \S+ is associated to one or more"):
        oke.delete(configuration)
    play_at_oracle(oke.api, "configuration-released")
    oke.delete(configuration)
    assert oke.api.store.list("instanceconfiguration") == []


def test_the_autoscaler_adds_nodes_to_the_most_once_a_policy_lets_its_pods(oke: OracleEngine) -> None:
    oke.up("NodePool", "system", oke.pool_inputs(1))
    pool = oke.up("NodePool", "cpu", oke.pool_inputs(1, name="cpu"))
    settings = [{"key": key, "value": value} for key, value in (("nodes", f"1:2:{pool.id}"), ("authType", "workload"))]
    common = {"removeAddonResourcesOnDelete": True, "overrideExisting": True, "configurations": settings}
    oke.up("Addon", "scaler", {"clusterId": oke.cluster.id, "addonName": "ClusterAutoscaler", **common})
    assert play_at_oracle(oke.api, "pool-resized").startswith("no policy")

    text = f"Allow any-user to manage cluster-node-pools in compartment id {COMPARTMENT} where ALL "
    where = f"{{request.principal.type = 'workload', request.principal.cluster_id = '{oke.cluster.id}'}}"
    oke.up("Policy", "scaler", {"compartmentId": COMPARTMENT, **JOIN, "statements": [text + where]})

    assert play_at_oracle(oke.api, "pool-resized") == "cpu has 2 nodes"
    assert len(oke.names()) == 3
    assert play_at_oracle(oke.api, "pool-resized") == "there is no node pool that may grow"
    grown = oke.refresh(pool)
    assert grown is not None
    assert grown.outputs["nodeConfigDetails"]["size"] == 2


def test_a_fault_happens_just_as_often_as_ordered_whoever_asks(tmp_path: Path) -> None:
    with Faults(tmp_path).open() as left:
        left["rate-limited"] = 25
    with ThreadPoolExecutor(8) as threads:
        happened = list(threads.map(lambda _: Faults(tmp_path).happens("rate-limited"), range(60)))
    assert happened.count(True) == 25


def test_faults_are_ordered_by_name_with_an_amount_and_taken_back(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    assert "3 times" in fault_orders.add(home, "rate-limited", times=3)
    assert "300 s" in fault_orders.add(home, "vpc-busy")
    assert "1 times" in fault_orders.add(home, "out-of-capacity")
    fault_orders.clear(home)
    assert not Faults(home.cloud).happens("rate-limited")
    assert Faults(home.cloud).seconds("vpc-busy") == 0
    assert fault_orders.names()["out-of-capacity"].endswith("[oci]")


@pytest.mark.parametrize(
    ("name", "amounts", "message"),
    [
        ("rate-limit", {}, "no fault"),
        ("vpc-busy", {"times": 2}, "takes no --times"),
        ("cluster-error", {"seconds": 2}, "takes no --seconds"),
        ("cluster-gone", {"times": 1}, "takes no --times"),
        ("rate-limited", {"times": 0}, "too little"),
    ],
)
def test_a_wrong_order_says_what_is_wrong(tmp_path: Path, name: str, amounts: dict[str, int], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        fault_orders.add(SandboxHome(tmp_path), name, **amounts)
