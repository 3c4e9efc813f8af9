"""Nodes of the sandbox and what the SR-IOV operator sees on them, as `kubectl get -o json` prints objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address
from typing import Any

from gpu_fabric.catalog import Shape
from sandbox.hardware.inventory import inventory
from sandbox.hardware.sriov import observed_interfaces
from sandbox.nodes import node_object

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
