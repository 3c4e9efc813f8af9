"""The stacks for DigitalOcean, whole: from nothing to a set of pods on every node, through changes, and back."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import PODS, until

from gpu_fabric.changes.footprint import unpack
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION

H200 = "gpu-h200x8-1128gb-fabric-contracted"
MULTI_NODE = {"doks-mi325x": ("amd.com/gpu", 8), "doks-b300": ("nvidia.com/gpu", 16)}


@pytest.fixture(scope="module")
def h200(cloud: Callable[..., CloudSandbox]) -> CloudSandbox:
    """The H200 stack, brought up; the tests of the module go on from one another."""
    sandbox = cloud("doks-h200")
    sandbox.up()
    return sandbox


def pool(nodes: int) -> dict[str, Any]:
    """The stack file's pools with another number of nodes."""
    return {"pools": [{"name": "gpu", "shape": H200, "nodes": nodes}]}


def gpu_nodes(sandbox: CloudSandbox) -> dict[str, dict[str, str]]:
    """What every node offers to pods that has a fabric, by name."""
    offered = {node["metadata"]["name"]: node["status"]["allocatable"] for node in sandbox.items(NODES)}
    return {name: resources for name, resources in offered.items() if any(key.startswith("rdma/") for key in resources)}


def identities(sandbox: CloudSandbox) -> dict[str, list[str]]:
    """The ids of all that the cloud has."""
    return {collection: [record["id"] for record in records] for collection, records in sandbox.everything.items()}


def has_no_place(sandbox: CloudSandbox, pod: str) -> bool:
    """Whether the scheduler has looked at a pod and found no node for it."""
    conditions = sandbox.api.get(f"{PODS}/{pod}")["status"].get("conditions", [])
    return any(entry["type"] == "PodScheduled" and entry["reason"] == "Unschedulable" for entry in conditions)


def assert_a_set_of_pods_takes_every_node(sandbox: CloudSandbox, gpu: str, nics: int) -> None:
    """Two pods of the contract lie on the two nodes, with all GPUs and NICs; a third one has to wait."""
    nodes = gpu_nodes(sandbox)
    assert len(nodes) == 2
    for name in ("worker-0", "worker-1"):
        sandbox.run_pod(sandbox.pod(name))
    pods = {pod["metadata"]["name"]: pod for pod in sandbox.items(PODS)}
    assert {pod["spec"]["nodeName"] for pod in pods.values()} == nodes.keys()
    asked = pods["worker-0"]["spec"]["containers"][0]["resources"]
    rails = [f"rdma/fabric{rail}" for rail in range(nics)]
    assert asked["requests"] == asked["limits"] == {gpu: "8", **dict.fromkeys(rails, "1")}
    named = pods["worker-0"]["metadata"]["annotations"][NETWORKS_ANNOTATION].split(", ")
    assert named == [f"roce-net-fabric{rail}@fabric{rail}" for rail in range(nics)]
    made = sandbox.items("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions")
    assert {entry.partition("@")[0] for entry in named} == {entry["metadata"]["name"] for entry in made}
    sandbox.api.post(PODS, sandbox.pod("one-more"))
    until(lambda: has_no_place(sandbox, "one-more"), "there is no node left for one more")
    sandbox.remove_pods(*pods, "one-more")


def test_a_set_of_pods_takes_both_h200_nodes_with_all_their_nics(h200: CloudSandbox) -> None:
    assert_a_set_of_pods_takes_every_node(h200, "nvidia.com/gpu", 8)


def test_nodes_pods_and_services_have_addresses_of_the_ranges_that_were_asked_for(h200: CloudSandbox) -> None:
    asked = h200.stack_with().spec.cluster.ranges.own()
    (services,) = h200.items("/apis/networking.k8s.io/v1/servicecidrs")
    nodes = [node["status"]["addresses"][0]["address"] for node in h200.items(NODES)]
    h200.run_pod(h200.pod("addressed"))
    pods = [pod["status"]["podIP"] for pod in h200.items(PODS)]
    h200.remove_pods("addressed")

    assert services["spec"]["cidrs"] == [str(asked["services"])]
    assert (len(nodes) > 0, len(pods) > 0) == (True, True)
    assert [address for address in nodes if ip_address(address) not in asked["nodes"]] == []
    assert [address for address in pods if ip_address(address) not in asked["pods"]] == []


def test_a_second_up_changes_nothing(h200: CloudSandbox) -> None:
    before = h200.everything
    assert f"    {h200.counted} unchanged" in h200.up()
    assert h200.everything == before


def test_what_cannot_change_in_place_is_previewed_as_a_replacement(h200: CloudSandbox) -> None:
    # Acknowledged, since the guard refuses even to preview what loses nodes.
    steps, said = h200.preview(
        acknowledge=["cluster-doks", "cluster-pool-gpu"], systemPool={"size": "s-2vcpu-4gb", "nodes": 2}
    )
    assert {part for part in ("vpc", "doks", "pool-gpu") if "replace" in steps.get(f"cluster-{part}", "")} == {
        "doks",
        "pool-gpu",
    }
    assert f"pool gpu, 2 nodes of {H200} with 16 GPUs: replaced" in said
    assert "cluster doks-h200, all of its nodes and everything that runs there" in said


def test_a_third_node_joins_the_pool_in_place(h200: CloudSandbox) -> None:
    before, ids = gpu_nodes(h200), identities(h200)
    steps = h200.preview(**pool(3)).steps
    assert steps.pop("cluster-pool-gpu") == "update"
    assert set(steps.values()) <= {"update"}
    assert "replaced" not in h200.up(**pool(3))
    after = gpu_nodes(h200)
    # the run has waited until the node was of use
    assert len(after) == 3
    assert before.keys() < after.keys()
    assert all(resources[f"rdma/fabric{rail}"] != "0" for resources in after.values() for rail in range(8))
    assert identities(h200) == ids
    assert h200.outputs()["fabric"]["nodes"] == 3


def test_fewer_nodes_are_refused_with_what_goes_and_come_once_that_is_acknowledged(h200: CloudSandbox) -> None:
    ids = identities(h200)
    said = h200.up(**pool(2), fails=True)
    assert "1 change needs an acknowledgement and has none, nothing was changed." in said
    assert "cluster-pool-gpu: would get smaller [KubernetesNodePool gpu]" in said
    assert "lost: 1 node with 8 GPUs" in said
    assert "Traceback" not in said
    assert identities(h200) == ids
    said = h200.up(**pool(2), acknowledge=["cluster-pool-gpu"])
    assert "warning: cluster-pool-gpu: would get smaller (nodeCount: 3 → 2)" in said
    assert unpack(h200.outputs()["applied"])["pools"][0]["nodes"] == 2


def test_down_stops_the_cluster_and_status_tells_it_and_how_to_look_into_it(h200: CloudSandbox) -> None:
    (cluster,) = h200.planes.ids()
    said = h200.run("status")
    assert f"cluster {cluster}" in said
    assert str(h200.home.cluster(cluster).bin / "kubectl") in said
    h200.run("down")
    assert "stopped" in h200.run("status", status=1)
    h200.planes.start_all()
    until(lambda: len(h200.planes.ready_nodes(cluster)) > 2, "the cluster is back with its nodes")


def test_destroy_leaves_nothing(h200: CloudSandbox) -> None:
    if h200.workspace.state(h200.stack) is None:
        h200.up()
    h200.destroy()
    h200.assert_nothing_is_left()


@pytest.mark.parametrize("stack", MULTI_NODE)
def test_other_multi_node_sizes_come_up_take_a_set_of_pods_and_go(
    cloud: Callable[..., CloudSandbox], stack: str
) -> None:
    sandbox = cloud(stack)
    sandbox.up()
    assert_a_set_of_pods_takes_every_node(sandbox, *MULTI_NODE[stack])
    before = sandbox.everything
    assert f"    {sandbox.counted} unchanged" in sandbox.up()
    assert sandbox.everything == before
    sandbox.destroy()
    sandbox.assert_nothing_is_left()
