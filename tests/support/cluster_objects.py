"""Nodes of the sandbox and what the SR-IOV operator sees on them, as `kubectl get -o json` prints objects."""

import json
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from gpu_fabric.catalog import Shape
from gpu_fabric.spec.load import document_of, validated
from sandbox.hardware.inventory import devices_of, inventory
from sandbox.hardware.sriov import observed_interfaces
from sandbox.simulated_nodes import desired_nodes, node_object

Object = dict[str, Any]


def node_and_state(shape: Shape, name: str, labels: Mapping[str, str] = {}) -> list[Object]:
    """A node of a shape, and its SriovNetworkNodeState."""
    capacity = {shape.gpus.resource: str(shape.gpus.count)}
    return [
        node_object(name, IPv4Address("10.0.0.1"), labels, [], {}, capacity),
        {
            "apiVersion": "sriovnetwork.openshift.io/v1",
            "kind": "SriovNetworkNodeState",
            "metadata": {"name": name, "namespace": "nvidia-network-operator"},
            "status": {"syncStatus": "Succeeded", "interfaces": observed_interfaces(inventory(shape))},
        },
    ]


def objects(items: Iterable[Object]) -> str:
    """A list of objects as text."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}, indent=4)


def cluster_objects(shape: Shape, nodes: int) -> str:
    """Equal nodes of a shape."""
    return objects(item for number in range(nodes) for item in node_and_state(shape, f"gpu-{number}"))


def simulated_nodes(shape: str, nodes: int = 3) -> list[Object]:
    """The sandbox's nodes of a stack with this shape, its CPU node among them, and what the SR-IOV operator sees."""
    pools = f"[{{name: gpu, shape: {shape}, nodes: {nodes}}}]"
    text = f"config:\n  gpu-fabric:cluster: {{provider: existing, kubeconfig: ~/.kube/config, pools: {pools}}}\n"
    found = desired_nodes(validated(document_of(text, "simulated", Path.cwd(), "Pulumi.simulated.yaml")))
    return [*found, *(state_of(node) for node in found)]


def state_of(node: Object) -> Object:
    """The SriovNetworkNodeState of a simulated node."""
    return {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkNodeState",
        "metadata": {"name": node["metadata"]["name"], "namespace": "nvidia-network-operator"},
        "status": {
            "syncStatus": "Succeeded",
            "interfaces": observed_interfaces(devices_of(node["metadata"]["annotations"])),
        },
    }


def nic_device(node: str, ports: Iterable[tuple[str, str, str]], device: str = "1021") -> Object:
    """NVIDIA's record of a NIC on a node; its ports by PCI address, interface and RDMA device."""
    return {
        "apiVersion": "configuration.net.nvidia.com/v1alpha1",
        "kind": "NicDevice",
        "metadata": {"name": f"{node}-{device}", "namespace": "nvidia-network-operator"},
        "status": {
            "node": node,
            "type": device,
            "serialNumber": "MT0000X00000",
            "ports": [{"pci": pci, "networkInterface": name, "rdmaInterface": rdma} for pci, name, rdma in ports],
        },
    }
