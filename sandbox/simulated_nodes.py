"""Simulated nodes: what a stack's pools would be as machines, and how the cluster comes to have just those."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from gpu_fabric.base.api_objects import is_true
from gpu_fabric.base.enumeration import first_names
from .kubernetes_api import Api, ApiError, Object

if TYPE_CHECKING:
    from gpu_fabric.catalog import Catalog, Shape
    from gpu_fabric.catalog.cloud import CloudProfile
    from gpu_fabric.spec.cluster import PoolSpec
    from gpu_fabric.spec.stack import StackSpec

POOL_LABEL = "gpu-fabric/pool"
OWN_LABEL = "sandbox.gpu-fabric/node"
DEFINITION_ANNOTATION = "sandbox.gpu-fabric/definition"
RDMA_MODE_ANNOTATION = "sandbox.gpu-fabric/rdma-mode"
"""The RDMA network-namespace mode that a simulated node runs in; without it a node is in mode `shared`."""

NIC_ADDRESSES_ANNOTATION = "sandbox.gpu-fabric/nic-addresses"
"""The addresses that this stack has set on a simulated node's NICs, as JSON: interface, address, gateway."""

PREPARED_ANNOTATION = "sandbox.gpu-fabric/virtual-functions"
"""Who makes a simulated node's virtual functions: what `fabric.virtualFunctions` says, else `as-it-is`."""

GPUS_ANNOTATION = "sandbox.gpu-fabric/gpus"
"""On a node that shows its GPUs only with a device plug-in: extended resource -> number of GPUs, as JSON."""

CLOUD_DEVICES_ANNOTATION = "sandbox.gpu-fabric/cloud-devices"
"""On a node whose cloud hands out NICs by a device plug-in: extended resource -> number of devices, as JSON."""

CLIQUE_ANNOTATION = "sandbox.gpu-fabric/nvlink-clique"
"""On a node whose GPUs have NVLink to other nodes: the UUID of the fabric and the clique, as NVML has them."""

READY_WITHIN_S = 60.0

_FIRST_ADDRESS = IPv4Address("10.0.10.1")
# The scheduler needs some figure; these are the processors and memory of BM.GPU.H100.8, and every job fits.
# Huge pages are there for DPDK pods: a machine reserves them at boot, the sandbox some of either size.
GPU_NODE = {
    "cpu": "112",
    "memory": "2048Gi",
    "hugepages-1Gi": "64Gi",
    "hugepages-2Mi": "64Gi",
    "ephemeral-storage": "6Ti",
    "pods": "110",
}
# As on a cluster of one's own: its control plane is a node of it. No such node is in a cloud's clusters.
_SYSTEM_ROLES = {"node-role.kubernetes.io/system": "", "node-role.kubernetes.io/control-plane": ""}
SYSTEM_NODE = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}


@dataclass(frozen=True)
class NodeChanges:
    """What a reconciliation did: names of nodes."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)

    @property
    def names(self) -> str:
        """What was done to which nodes, of many the first."""
        done = (("added", self.added), ("updated", self.updated), ("removed", self.removed))
        return "; ".join(f"{verb} {first_names(names, 3)}" for verb, names in done if names)

    def __str__(self) -> str:
        parts = [f"{len(names)} {verb}" for verb, names in (("added", self.added), ("updated", self.updated)) if names]
        if self.removed:
            parts.append(f"{len(self.removed)} removed")
        return ", ".join(parts) or "unchanged"


def desired_nodes(spec: StackSpec) -> list[Object]:
    """The nodes of a stack as Kubernetes objects: each pool's by the names it lists, else `<pool>-<n>`; one CPU node.

    The CPU node is `system-0`, or `system-cpu` where a GPU node has that name. NICs are the shape's, with the stack
    file's settings of single rails. Raises ValueError for a pool whose shape is unknown.
    """
    from gpu_fabric.plan.case import shape_on_nodes, with_own_nics
    from gpu_fabric.plan.fabrics import fabrics_of_pool
    from gpu_fabric.spec.fabric import PlanesSpec

    known = spec.catalog
    names = {name for pool in spec.cluster.pools for name in _names(pool)}
    system = "system-0" if "system-0" not in names else "system-cpu"
    nodes = [node_object(system, _FIRST_ADDRESS, _SYSTEM_ROLES, [], {}, SYSTEM_NODE)]
    for pool in spec.cluster.pools:
        shape = known.find(pool.shape)
        if shape is None:
            raise ValueError(f"pool {pool.name}: no shape {pool.shape!r} in the catalog or in the stack file")
        first, *others = fabrics_of_pool(spec, pool)
        further = [shape_on_nodes(with_own_nics(shape, one.fabric), one.fabric) for one in others]
        # NICs are split over planes on the nodes, by the stack's own software.
        unsplit = first.fabric.model_copy(update={"planes": PlanesSpec()})
        machine = machine_annotations(first, shape_on_nodes(shape, unsplit), further)
        for number, name in enumerate(_names(pool)):
            domain = known.nvlink_domains.get(shape.gpus.model or "")
            rack = 0 if domain is None else number // domain.nodes(shape)
            own = machine | clique_annotation(known, shape, pool.name, rack)
            nodes.append(_gpu_node(spec, pool, shape, name, _FIRST_ADDRESS + len(nodes), own))
    return nodes


def machine_annotations(spec: StackSpec, shape: Shape, further: Sequence[Shape] = ()) -> dict[str, str]:
    """Annotations of a node that is not configured yet: its devices and its RDMA mode.

    `further` has the shape as it is for each further fabric on the node, with that fabric's NICs.
    Virtual functions, modes and addresses that the stack's own software configures are missing when a node joins.
    """
    from gpu_fabric.plan.choices import choices_of
    from gpu_fabric.plan.managers import MANAGERS
    from .hardware.inventory import machine_annotation, machine_inventory

    choices = choices_of(spec, shape, spec.catalog)
    makes_functions = choices.virtual_functions in ("sriov-operator", "daemon-set")
    # elsewhere the stack's host preparation sets the RDMA mode, or the image does
    by_operator = makes_functions and MANAGERS[choices.manager].sriov_operator_knows_rdma_mode
    sets_mode = spec.fabric.host_preparation.rdma_mode or by_operator
    bare = {"vfs_per_nic": 0} if makes_functions else {}
    devices = machine_inventory([one.model_copy(update=bare) for one in (shape, *further)])
    return {
        # part of a node's definition, so that a node that another stack configured is created again
        PREPARED_ANNOTATION: choices.virtual_functions or "as-it-is",
        NIC_ADDRESSES_ANNOTATION: "[]",
        RDMA_MODE_ANNOTATION: "shared" if sets_mode else choices.rdma_mode,
        **machine_annotation(shape, devices, spec.catalog.topologies.get(shape.name)),
    }


def clique_annotation(known: Catalog, shape: Shape, fabric: str, clique: int = 0) -> dict[str, str]:
    """The annotation of a node of a shape with NVLink between nodes, whose fabric has a name here; else none."""
    if (shape.gpus.model or "") not in known.nvlink_domains:
        return {}
    return {CLIQUE_ANNOTATION: f"{uuid.uuid5(uuid.NAMESPACE_OID, fabric)}.{clique}"}


def _names(pool: PoolSpec) -> tuple[str, ...]:
    return pool.named_nodes or tuple(f"{pool.name}-{index}" for index in range(pool.nodes))


def reconcile_nodes(api: Api, desired: Iterable[Object]) -> NodeChanges:
    """Add, update and remove simulated nodes until the cluster has just the desired ones.

    Fields that others set (labels of node feature discovery, advertised RDMA resources, condition taints) stay.
    Raises ApiError.
    """
    wanted = {node["metadata"]["name"]: node for node in desired}
    found = {node["metadata"]["name"]: node for node in api.get("/api/v1/nodes", labelSelector=OWN_LABEL)["items"]}
    added, updated = [], []
    for name, node in wanted.items():
        if name not in found:
            added.append(name)
        elif _definition(found[name]) != _definition(node):
            updated.append(name)
        else:
            continue
        _apply(api, node, found.get(name))
    removed = sorted(set(found) - set(wanted))
    for name in removed:
        _remove(api, name)
    return NodeChanges(tuple(added), tuple(updated), tuple(removed))


def wait_nodes_ready(api: Api) -> list[str]:
    """Wait until every simulated node is Ready, may be scheduled on and offers what its cloud's plug-in hands out.

    Gives those that are not in time.
    """
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        nodes = api.get("/api/v1/nodes", labelSelector=OWN_LABEL)["items"]
        waiting = [node["metadata"]["name"] for node in nodes if not (is_ready(node) and _has_devices(node))]
        if not waiting or time.monotonic() > deadline:
            return waiting
        time.sleep(0.1)


def _gpu_node(
    spec: StackSpec, pool: PoolSpec, shape: Shape, name: str, address: IPv4Address, machine: dict[str, str]
) -> Object:
    from gpu_fabric.plan.startup_taint import startup_taints

    by_cloud, devices, kubelet = _of_cloud(spec, shape)
    own = machine | devices
    labels = {"node.kubernetes.io/instance-type": shape.name, POOL_LABEL: pool.name, **by_cloud, **pool.labels}
    taints = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in (*pool.taints_with(shape.gpus.vendor), *startup_taints(spec, pool))
    ]
    capacity = {**GPU_NODE, shape.gpus.resource: str(shape.gpus.count)}
    return node_object(name, address, labels, taints, own, capacity, kubelet=kubelet)


def profile_of(spec: StackSpec) -> CloudProfile | None:
    """The profile of the cloud that runs an existing cluster."""
    name = getattr(spec.cluster, "profile", None)
    return None if name is None else spec.catalog.clouds[name]


def _of_cloud(spec: StackSpec, shape: Shape) -> tuple[dict[str, str], dict[str, str], str]:
    """What a node has of a cloud with a profile: labels, the annotation of its plug-in, its kubelet's version."""
    from gpu_fabric.k8s.base import compact_json
    from gpu_fabric.plan.case import type_labels

    cloud = profile_of(spec)
    if cloud is None:
        return {}, {}, "simulated"
    marks = spec.catalog.distributions[cloud.name]
    # All nodes are in one place of each level.
    labels = dict.fromkeys(cloud.topology, "simulated")
    labels |= {**({marks.label: "true"} if marks.label else {}), **type_labels(shape)}
    plugin = cloud.plugin if spec.fabric.devices == "plugin" else None
    devices = {} if plugin is None else Counter(plugin.resources(shape.rails))
    annotations = {CLOUD_DEVICES_ANNOTATION: compact_json(devices)} if devices else {}
    return labels, annotations, f"simulated{marks.kubelet}"


def node_object(
    name: str,
    address: IPv4Address,
    labels: Mapping[str, str],
    taints: Sequence[Mapping[str, str]],
    annotations: Mapping[str, str],
    capacity: Mapping[str, str],
    provider_id: str = "",
    kubelet: str = "simulated",
) -> Object:
    """A simulated node as a Kubernetes object; its definition, by which a change is seen, is among its annotations.

    `provider_id` is what a cloud's controller writes: the id of the node's machine.
    """
    platform = {"os": "linux", "arch": "amd64"}
    # kubelets still write the labels of old; the SR-IOV operator's config daemon selects nodes by one of them
    common = {f"{prefix}kubernetes.io/{key}": value for prefix in ("", "beta.") for key, value in platform.items()}
    common["kubernetes.io/hostname"] = name
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **common, OWN_LABEL: "true"}, "annotations": dict(annotations)},
        "spec": {"taints": list(taints), **({"providerID": provider_id} if provider_id else {})},
        "status": {
            "capacity": dict(capacity),
            "allocatable": dict(capacity),
            "addresses": [
                {"type": "InternalIP", "address": str(address)},
                {"type": "Hostname", "address": name},
            ],
            # `kubectl get nodes -o wide` shows this field
            "nodeInfo": {
                "kubeletVersion": kubelet,
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "simulated://",
                "osImage": "gpu-fabric sandbox",
                "kernelVersion": "simulated",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        },
    }
    content = json.dumps(node, sort_keys=True).encode()
    node["metadata"]["annotations"] = {**annotations, DEFINITION_ANNOTATION: hashlib.sha256(content).hexdigest()}
    return node


def _definition(node: Object) -> str | None:
    annotations: dict[str, str] = node["metadata"].get("annotations", {})
    return annotations.get(DEFINITION_ANNOTATION)


def _apply(api: Api, node: Object, found: Object | None) -> None:
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    status = {key: node[key] for key in ("apiVersion", "kind")}
    # taints are one value in server-side apply: those that Kubernetes set for the node's condition go along
    present = (found or {}).get("spec", {}).get("taints", [])
    conditions = [taint for taint in present if taint["key"].startswith("node.kubernetes.io/")]
    spec = {**node["spec"], "taints": [*node["spec"]["taints"], *conditions]}
    api.apply(path, {**status, "metadata": node["metadata"], "spec": spec})
    api.apply(f"{path}/status", {**status, "metadata": {"name": node["metadata"]["name"]}, "status": node["status"]})


def _remove(api: Api, name: str) -> None:
    # without a kubelet the pods would stay for another minute
    pods = api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={name}")["items"]
    for path in [
        *(
            f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}?gracePeriodSeconds=0"
            for pod in pods
        ),
        f"/api/v1/nodes/{name}",
    ]:
        try:
            api.delete(path)
        except ApiError as error:
            if error.status != 404:
                raise


def cloud_devices(node: Object) -> dict[str, int]:
    """What its cloud's device plug-in offers on a node: extended resource -> number of devices."""
    annotations = node["metadata"].get("annotations") or {}
    devices: dict[str, int] = json.loads(annotations.get(CLOUD_DEVICES_ANNOTATION, "{}"))
    return devices


def _has_devices(node: Object) -> bool:
    offered = node.get("status", {}).get("allocatable", {})
    return all(offered.get(resource) == str(count) for resource, count in cloud_devices(node).items())


def is_ready(node: Object) -> bool:
    """Whether a node is Ready and may be scheduled on."""
    taints = node.get("spec", {}).get("taints", [])
    return is_true(node, "Ready") and not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)
