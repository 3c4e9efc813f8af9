"""Policies, nodes and pods as the API server would hand them to the sandbox's operators."""

import json
from collections.abc import Mapping
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.mellanox import NIC_LABEL
from sandbox.hardware.inventory import inventory_annotation
from sandbox.hardware.operands import OPERAND_LABEL

Object = dict[str, Any]

H100 = catalog().shapes["BM.GPU.H100.8"]
NAMESPACE = "nvidia-network-operator"
IMAGE = {"image": "some-image", "repository": "nvcr.io/nvidia/mellanox", "version": "v1"}
VFS = {"resourceName": "vf", "selectors": {"vendors": ["15b3"], "devices": ["101e"], "isRdma": True}}


def sriov_config(*resources: Object) -> str:
    """A configuration text of the SR-IOV device plug-in."""
    return json.dumps({"resourceList": resources or (VFS,)})


def shared_config(interface: str = "rdma0") -> str:
    """A configuration text of the RDMA shared device plug-in."""
    entry = {"resourceName": "shared", "rdmaHcaMax": 63, "selectors": {"ifNames": [interface]}}
    return json.dumps({"configList": [entry]})


def cluster_policy(name: str = "nic-cluster-policy", **spec: Any) -> Object:
    """A NicClusterPolicy with these sections."""
    metadata = {"name": name, "uid": f"uid-of-{name}", "generation": 1}
    return {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": metadata, "spec": spec}


def node_policy(name: str, **spec: Any) -> Object:
    """A NicNodePolicy with these sections."""
    return {**cluster_policy(name, **{"nodeSelector": {"pool": name}, **spec}), "kind": "NicNodePolicy"}


def node(vfs_per_nic: int = 1, labels: Mapping[str, str] | None = None, **annotations: str) -> Object:
    """A node with eight GPUs' worth of NICs, on which Node Feature Discovery has been."""
    machine = inventory_annotation(H100.model_copy(update={"vfs_per_nic": vfs_per_nic}))
    named = {f"sandbox.gpu-fabric/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "gpu-0",
            "labels": {NIC_LABEL: "true", **(labels or {})},
            "annotations": {**machine, **named},
        },
        "status": {"capacity": {}, "allocatable": {}},
    }


def operand_pod(plays: str, config_map: str | None = None, **annotations: str) -> Object:
    """A running pod of an operand, with what it has loaded as annotation if it has."""
    volumes = [{"name": "config", "configMap": {"name": config_map}}] if config_map else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod",
            "namespace": NAMESPACE,
            "labels": {OPERAND_LABEL: plays},
            "annotations": {f"sandbox.gpu-fabric/{key}": text for key, text in annotations.items()},
        },
        "spec": {"volumes": volumes, "containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }


def config_maps(text: str, name: str = "config") -> dict[str, Object]:
    """The ConfigMap from which a pod of `operand_pod` reads."""
    return {f"{NAMESPACE}/{name}": {"data": {"config.json": text}}}
