"""The stacks for DigitalOcean, whole: from nothing to a set of pods on every node, through changes, and back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import PODS, until

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.sandbox

H200 = "gpu-h200x8-1128gb-fabric-contracted"
MULTI_NODE = {"doks-mi325x": ("amd.com/gpu", 8), "doks-b300": ("nvidia.com/gpu", 16)}


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSandbox]:
    """The H200 stack, brought up; the tests of the module go on from one another."""
    sandbox = CloudSandbox(tmp_path_factory.mktemp("doks"), "doks-h200")
    try:
        sandbox.up()
        yield sandbox
    finally:
        sandbox.clean_up()


def pool(nodes: int, shape: str = H200) -> dict[str, Any]:
    """The stack file's pools with another number of nodes, or of another size."""
    return {"pools": [{"name": "gpu", "shape": shape, "nodes": nodes}]}


def gpu_nodes(sandbox: CloudSandbox) -> dict[str, dict[str, str]]:
    """What every node offers to pods that has a fabric, by name."""
    offered = {node["metadata"]["name"]: node["status"]["allocatable"] for node in sandbox.items(NODES)}
    return {name: resources for name, resources in offered.items() if any(key.startswith("rdma/") for key in resources)}


def identities(sandbox: CloudSandbox) -> dict[str, list[str]]:
    """The ids of all that the cloud has."""
    return {collection: [record["id"] for record in records] for collection, records in sandbox.everything.items()}


def status(sandbox: CloudSandbox, pod: str) -> Object:
    found: Object = sandbox.api.get(f"{PODS}/{pod}")["status"]
    return found


def runs(sandbox: CloudSandbox, pod: str) -> bool:
    return bool(status(sandbox, pod).get("phase") == "Running")


def has_no_place(sandbox: CloudSandbox, pod: str) -> bool:
    """Whether the scheduler has looked at a pod and found no node for it."""
    conditions = status(sandbox, pod).get("conditions", [])
    return any(entry["type"] == "PodScheduled" and entry["reason"] == "Unschedulable" for entry in conditions)


def assert_a_set_of_pods_takes_every_node(sandbox: CloudSandbox, gpu: str, nics: int) -> None:
    """Two pods of the contract lie on the two nodes, with all GPUs and NICs; a third one has to wait."""
    nodes = gpu_nodes(sandbox)
    assert len(nodes) == 2
    for name in ("worker-0", "worker-1"):
        sandbox.api.post(PODS, sandbox.pod(name))
        until(partial(runs, sandbox, name), f"{name} runs")
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
    assert status(sandbox, "one-more")["phase"] == "Pending"
    for name in (*pods, "one-more"):
        sandbox.api.delete(f"{PODS}/{name}?gracePeriodSeconds=0")


def test_a_set_of_pods_takes_both_h200_nodes_with_all_their_nics(h200: CloudSandbox) -> None:
    assert_a_set_of_pods_takes_every_node(h200, "nvidia.com/gpu", 8)


def test_a_second_up_changes_nothing(h200: CloudSandbox) -> None:
    before = h200.everything
    assert f"    {h200.counted} unchanged" in h200.up()
    assert h200.everything == before


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"region": "atl1"}, {"vpc", "doks", "pool-gpu"}),
        (pool(2, "gpu-h100x8-640gb-contracted"), {"pool-gpu"}),
        ({"systemPool": {"size": "s-2vcpu-4gb", "nodes": 2}}, {"doks", "pool-gpu"}),
    ],
    ids=["region", "size of the GPU pool", "size of the system pool"],
)
def test_what_cannot_change_in_place_is_previewed_as_a_replacement(
    h200: CloudSandbox, change: dict[str, Any], anew: set[str]
) -> None:
    # Acknowledged, since the guard refuses even to preview what loses nodes.
    steps, said = h200.preview(acknowledge=[f"cluster-{part}" for part in anew], **change)
    assert {part for part in ("vpc", "doks", "pool-gpu") if "replace" in steps.get(f"cluster-{part}", "")} == anew
    assert f"pool gpu, 2 nodes of {H200} with 16 GPUs: replaced" in said
    assert ("cluster doks-h200, all of its nodes and everything that runs there" in said) == ("doks" in anew)


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


def test_destroy_leaves_nothing(h200: CloudSandbox) -> None:
    if h200.workspace.state(h200.stack) is None:
        h200.up()
    h200.destroy()
    h200.assert_nothing_is_left()


@pytest.mark.parametrize("stack", MULTI_NODE)
def test_other_multi_node_sizes_come_up_take_a_set_of_pods_and_go(
    tmp_path_factory: pytest.TempPathFactory, stack: str
) -> None:
    sandbox = CloudSandbox(tmp_path_factory.mktemp("doks"), stack)
    try:
        sandbox.up()
        assert_a_set_of_pods_takes_every_node(sandbox, *MULTI_NODE[stack])
        sandbox.destroy()
        sandbox.assert_nothing_is_left()
    finally:
        sandbox.clean_up()
