"""Stacks with nodes beside the fabric, whole: pods of each pool run on its nodes alone, and everything is deleted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import PODS, until

from gpu_fabric.spec.load import read_document
from sandbox.home import project_root
from sandbox.kubernetes_api import Object

GPU = "nvidia.com/gpu"
# Stack: its cloud, the fabric's nodes, and the devices of the fabric on each.
SCALED = {"doks-inference": 1, "oke-pools": 2}
STACKS = {"doks-inference": ("digitalocean", 2, 8), "oke-pools": ("oci", 2, 8)}


@pytest.fixture(scope="module", params=STACKS)
def stack(cloud: Callable[..., CloudSandbox], request: pytest.FixtureRequest) -> CloudSandbox:
    """Each stack, brought up; the tests of the module go on from one another."""
    sandbox = cloud(request.param, STACKS[request.param][0])
    sandbox.up()
    return sandbox


def pods_of(contract: dict[str, Any], name: str) -> Object:
    """A pod written from the contract of a pool beside the fabric alone."""
    resources = {contract["gpuResource"]: "1"} if "gpuResource" in contract else {"cpu": "100m"}
    container = {"name": "main", "image": "serving", "resources": {"requests": resources, "limits": resources}}
    spec = {
        "nodeSelector": contract["nodeSelector"],
        "tolerations": contract["tolerations"],
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def placed(sandbox: CloudSandbox, pod: Object) -> Object:
    """The node on which a pod runs that is created now."""
    node: Object = sandbox.api.get(f"{NODES}/{sandbox.run_pod(pod)}")
    return node


def pool_of(node: Object) -> str:
    return str(node["metadata"]["labels"]["gpu-fabric/pool"])


def devices(node: Object) -> dict[str, str]:
    """The devices that a node offers, but for none of a kind."""
    offered = node["status"]["allocatable"]
    return {name: amount for name, amount in offered.items() if "/" in name and amount != "0"}


def test_each_pools_pods_run_on_its_nodes_by_its_contract(stack: CloudSandbox) -> None:
    contracts = stack.outputs()["otherPools"]
    for name, contract in contracts.items():
        assert pool_of(placed(stack, pods_of(contract, name))) == name
    stack.remove_pods(*contracts)


def test_jobs_of_the_fabric_take_the_fabrics_nodes_and_no_other(stack: CloudSandbox) -> None:
    _, nodes, rails = STACKS[stack.stack]
    names = [f"worker-{number}" for number in range(nodes)]
    found = [placed(stack, stack.pod(name)) for name in names]
    assert {pool_of(node) for node in found} == {"gpu"}
    assert len({node["metadata"]["name"] for node in found}) == nodes
    assert all(len(devices(node)) == rails + 1 for node in found)
    stack.api.post(PODS, stack.pod("one-more"))
    conditions = until(partial(_unschedulable, stack, "one-more"), "there is no node left for one more")
    assert conditions[0]["reason"] == "Unschedulable"
    stack.remove_pods(*names, "one-more")
    beside = [node for node in stack.items(NODES) if node["metadata"]["labels"].get("gpu-fabric/pool") == "inference"]
    assert [devices(node) for node in beside] == [{GPU: "1"}] * 2


def _unschedulable(sandbox: CloudSandbox, pod: str) -> list[Object]:
    conditions = sandbox.api.get(f"{PODS}/{pod}")["status"].get("conditions", [])
    return [entry for entry in conditions if entry["type"] == "PodScheduled" and entry["status"] == "False"]


def test_a_node_that_the_autoscaler_adds_is_no_change_of_the_stack(stack: CloudSandbox) -> None:
    before = len(stack.items(NODES))
    stack.fault("pool-resized")
    assert len(stack.items(NODES)) == before + SCALED[stack.stack]
    assert stack.preview().steps == {}
    assert f"    {stack.counted} unchanged" in stack.up()


def test_a_node_pool_that_exists_at_oracle_is_taken_over_by_its_id_as_it_is(stack: CloudSandbox) -> None:
    if stack.stack != "oke-pools":
        pytest.skip("node pools at DigitalOcean: test_doks_faults.py")
    identifier = _made_elsewhere(stack)
    beside = read_document("oke-pools", project_root()).sections["cluster"]["otherPools"]
    more = {**beside[-1], "name": "more", "nodes": 0}
    before = stack.found("nodepool")

    otherwise = {"otherPools": [*beside, {**more, "ocpus": 8}], "adopt": {"pool-more": identifier}}
    for _ in range(2):
        stack.up(**otherwise)
        assert stack.found("nodepool") == before
    assert f"    {stack.counted} unchanged" in stack.up(otherPools=[*beside, more])
    assert stack.preview(otherPools=otherwise["otherPools"]).steps == {"cluster-pool-more": "update"}


def _made_elsewhere(sandbox: CloudSandbox) -> str:
    """A node pool `more` without nodes that the stack does not know, otherwise as the pool `batch`; gives its id."""
    made = copy.deepcopy(next(pool for pool in sandbox.store.list("nodepool") if pool["inputs"]["name"] == "batch"))
    made["id"] = f"{made['id'].rpartition('.')[0]}.{'m' * 60}"
    made["nodes"] = []
    made["inputs"]["name"] = "more"
    made["inputs"]["nodeConfigDetails"]["size"] = 0
    made["inputs"]["initialNodeLabels"] = [{"key": "gpu-fabric/pool", "value": "more"}]
    sandbox.store.add("nodepool", made)
    return str(made["id"])


def test_destroy_leaves_nothing_at_the_cloud(stack: CloudSandbox) -> None:
    stack.destroy()
    stack.assert_nothing_is_left()
