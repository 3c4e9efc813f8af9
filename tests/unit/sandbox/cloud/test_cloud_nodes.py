"""Nodes of a simulated DOKS cluster have DigitalOcean's labels and taints, and show only what plug-ins advertise."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.cloud.digitalocean.managed import AMD_GPUS, NVIDIA_GPUS, RDMA, managed_objects
from sandbox.cloud.digitalocean.nodes import PoolNodes, node_objects
from sandbox.hardware.device_plugins import resources_of
from sandbox.hardware.node_records import Outcome, node_patch

H200 = "gpu-h200x8-1128gb-fabric-contracted"
B300 = "gpu-b300x8-2304gb-lc-fabric-contracted"
MI300 = "gpu-mi300x8-1536gb-fabric-contracted"
Object = dict[str, Any]


def _nodes(size: str, *names: str, **more: Any) -> list[Object]:
    pool = PoolNodes("gpu", "pool-1", size, tuple((f"id-{name}", name) for name in names), **more)
    return node_objects("cluster-1", "nyc2", "1.36.1-do.0", [pool])


def _shown(node: Object, objects: list[Object]) -> dict[str, int]:
    """What a node shows once the pods of all DaemonSets that tolerate and select it have started there."""
    config_maps = {f"kube-system/{item['metadata']['name']}": item for item in objects if item["kind"] == "ConfigMap"}
    found: dict[str, int] = {}
    for item in objects:
        if item["kind"] == "DaemonSet" and _selects(item, node):
            template = item["spec"]["template"]
            pod = {**template, "metadata": {**template["metadata"], "namespace": item["metadata"]["namespace"]}}
            found |= resources_of(pod, node, config_maps)
    return found


def _selects(item: Object, node: Object) -> bool:
    affinity = item["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    labels = node["metadata"]["labels"]
    return all(
        rule["key"] in labels and labels[rule["key"]] in rule.get("values", labels.values())
        for rule in term["matchExpressions"]
    )


def test_a_gpu_node_has_the_labels_that_doks_sets_and_those_of_its_pool() -> None:
    (node,) = _nodes(H200, "gpu-x1", labels={"team": "a"})

    assert {
        "doks.digitalocean.com/node-pool": "gpu",
        "doks.digitalocean.com/node-pool-id": "pool-1",
        "doks.digitalocean.com/node-id": "id-gpu-x1",
        "doks.digitalocean.com/version": "1.36.1-do.0",
        "doks.digitalocean.com/gpu-brand": "nvidia",
        "doks.digitalocean.com/gpu-model": "h200",
        "topology.kubernetes.io/region": "nyc2",
        "node.kubernetes.io/instance-type": H200,
        "kubernetes.io/hostname": "gpu-x1",
        "team": "a",
    }.items() <= node["metadata"]["labels"].items()


@pytest.mark.parametrize(("size", "key"), [(H200, "nvidia.com/gpu"), (MI300, "amd.com/gpu")])
def test_a_gpu_node_has_the_taint_of_its_vendor_before_the_users(size: str, key: str) -> None:
    own = {"key": "team", "value": "a", "effect": "NoExecute"}
    (node,) = _nodes(size, "a", taints=(own,))

    assert node["spec"]["taints"] == [{"key": key, "effect": "NoSchedule"}, own]


def test_a_node_of_a_cpu_size_has_neither_gpus_nor_a_taint() -> None:
    (node,) = _nodes("s-4vcpu-8gb", "system-1")

    assert node["spec"]["taints"] == []
    assert node["status"]["capacity"]["cpu"] == "4"
    assert not [label for label in node["metadata"]["labels"] if "gpu" in label.partition("/")[2]]


@pytest.mark.parametrize(("size", "rails"), [(H200, 8), (B300, 16)])
def test_the_managed_plug_ins_show_gpus_and_one_resource_for_each_fabric_nic(size: str, rails: int) -> None:
    (node,) = _nodes(size, "a")

    shown = _shown(node, managed_objects({NVIDIA_GPUS: True, RDMA: True}, ["s-4vcpu-8gb", size]))

    assert shown == {"nvidia.com/gpu": 8, **{f"rdma/fabric{rail}": 1000 for rail in range(rails)}}


def test_a_plug_in_that_is_switched_off_shows_nothing() -> None:
    (node,) = _nodes(H200, "a")

    assert _shown(node, managed_objects({NVIDIA_GPUS: False, RDMA: True}, [H200])).keys() >= {"rdma/fabric0"}
    assert "nvidia.com/gpu" not in _shown(node, managed_objects({NVIDIA_GPUS: False, RDMA: True}, [H200]))
    assert not any("/" in name for name in node["status"]["capacity"])
    assert managed_objects({}, [H200]) == []


def test_there_is_no_shared_device_plug_in_without_a_fabric() -> None:
    kinds = [item["kind"] for item in managed_objects({NVIDIA_GPUS: True, RDMA: True}, ["gpu-h200x8-1128gb"])]

    assert kinds == ["DaemonSet"]


def test_a_plug_in_of_one_vendor_leaves_the_others_nodes_alone() -> None:
    (node,) = _nodes(MI300, "a")

    assert _shown(node, managed_objects({NVIDIA_GPUS: True, AMD_GPUS: True}, [MI300])) == {"amd.com/gpu": 8}


def test_partitioned_gpus_show_twice() -> None:
    (node,) = _nodes(MI300, "a", gpu_partition_mode="AMD_PARTITION_MODE_DPX_NPS2")

    assert _shown(node, managed_objects({AMD_GPUS: True}, [MI300])) == {"amd.com/gpu": 16}


def test_nodes_keep_their_addresses_while_others_come_and_go() -> None:
    def addresses(*names: str) -> dict[str, str]:
        nodes = _nodes(H200, *names)
        return {node["metadata"]["name"]: node["status"]["addresses"][0]["address"] for node in nodes}

    before = addresses("a", "b", "c")

    assert len(set(before.values())) == 3
    assert addresses("b", "d")["b"] == before["b"]


def test_a_number_that_kubernetes_writes_shorter_is_written_once() -> None:
    node = {"metadata": {}, "status": {}}
    outcome = Outcome(resources={"rdma/fabric0": 1000, "nvidia.com/gpu": 8, "rdma/none": 0})

    patch = node_patch(node, outcome)

    assert patch["status"]["capacity"] == {"rdma/fabric0": "1k", "nvidia.com/gpu": "8", "rdma/none": "0"}
    after = {"metadata": patch["metadata"], "status": patch["status"]}
    assert node_patch(after, outcome) == {}
