"""What nodes of a simulated DOKS cluster are and offer: just what the managed plug-ins advertise there."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from sandbox.cloud.digitalocean.doks_nodes import PoolNodes, node_objects
from sandbox.cloud.digitalocean.managed import AMD_GPUS, NVIDIA_GPUS, RDMA, managed_objects
from sandbox.hardware.device_plugins import resources_of

H200 = "gpu-h200x8-1128gb-fabric-contracted"
B300 = "gpu-b300x8-2304gb-lc-fabric-contracted"
MI300 = "gpu-mi300x8-1536gb-fabric-contracted"
PAIRS = "AMD_PARTITION_MODE_DPX_NPS2"
VPC = IPv4Network("10.9.8.0/28")
Object = dict[str, Any]


def _nodes(size: str, *names: str, **more: Any) -> list[Object]:
    pool = PoolNodes("gpu", "pool-1", size, tuple((f"id-{name}", name) for name in names), **more)
    return node_objects("cluster-1", "nyc2", "1.36.1-do.0", VPC, [pool])


def _shown(node: Object, objects: list[Object]) -> dict[str, int]:
    """What a node shows once the pods of all DaemonSets that select it have started there."""
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
    labels, rules = node["metadata"]["labels"], term["matchExpressions"]
    return all(rule["key"] in labels and labels[rule["key"]] in rule.get("values", labels.values()) for rule in rules)


@pytest.mark.parametrize(
    ("size", "mode", "switched_on", "gpus", "rails"),
    [
        (H200, None, (NVIDIA_GPUS, RDMA), {"nvidia.com/gpu": 8}, 8),
        (B300, None, (NVIDIA_GPUS, RDMA), {"nvidia.com/gpu": 8}, 16),
        (H200, None, (RDMA,), {}, 8),
        (H200, None, (), {}, 0),
        ("gpu-h200x8-1128gb", None, (NVIDIA_GPUS, RDMA), {"nvidia.com/gpu": 8}, 0),
        ("s-4vcpu-8gb", None, (NVIDIA_GPUS, RDMA), {}, 0),
        (MI300, None, (NVIDIA_GPUS, AMD_GPUS), {"amd.com/gpu": 8}, 0),
        (MI300, PAIRS, (AMD_GPUS,), {"amd.com/gpu": 16}, 0),
    ],
)
def test_the_managed_plug_ins_show_gpus_and_one_resource_for_each_fabric_nic(
    size: str, mode: str | None, switched_on: tuple[str, ...], gpus: dict[str, int], rails: int
) -> None:
    own = {"key": "team", "value": "a", "effect": "NoExecute"}
    (node,) = _nodes(size, "a", gpu_partition_mode=mode, taints=(own,), labels={"team": "a"})
    objects = managed_objects(dict.fromkeys(switched_on, True), ["s-4vcpu-8gb", size])

    assert _shown(node, objects) == {**gpus, **{f"rdma/fabric{rail}": 1000 for rail in range(rails)}}
    assert not any("/" in name for name in node["status"]["capacity"])
    vendor = [] if size.startswith("s-") else ["amd.com/gpu" if size == MI300 else "nvidia.com/gpu"]
    assert node["spec"]["taints"] == [*({"key": key, "effect": "NoSchedule"} for key in vendor), own]
    assert node["metadata"]["labels"]["team"] == "a"


def test_every_node_has_an_address_of_the_vpc_that_stays_when_others_leave() -> None:
    def addresses(*names: str) -> dict[str, str]:
        return {node["metadata"]["name"]: node["status"]["addresses"][0]["address"] for node in _nodes(H200, *names)}

    names = tuple("abcdefghijklmn")
    assert set(addresses(*names).values()) == {str(address) for address in VPC.hosts()}
    assert addresses("a") == {"a": addresses(*names)["a"]}
