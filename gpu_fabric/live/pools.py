"""Which nodes of a cluster are those of the stack's pools."""

from __future__ import annotations

from typing import NamedTuple

from gpu_fabric.catalog import Shape
from gpu_fabric.live.cluster import Cluster, Json, field, labels_of, name_of
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.case import type_labels, with_own_nics
from gpu_fabric.plan.startup_taint import startup_taints
from gpu_fabric.spec.cluster import PoolSpec, TaintSpec
from gpu_fabric.spec.places import Location

_VENDOR_IDS = {"nvidia": "10de", "amd": "1002"}
_ROLES = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Pool(NamedTuple):
    """A pool of the stack file with its nodes; `certain` where names or labels tell them from all others.

    `startup_taints` are those of nodes that are not proven yet.
    """

    number: int
    spec: PoolSpec
    shape: Shape
    nodes: tuple[Json, ...]
    certain: bool
    startup_taints: tuple[TaintSpec, ...] = ()

    def at(self, key: str) -> Location:
        """The place of one of the pool's keys."""
        return ("cluster", "pools", self.number, key)


def pools_of(stack: Stack, cluster: Cluster) -> tuple[Pool, ...]:
    """The pools with their nodes: by the nodes' names or labels; where neither is stated, all nodes with such GPUs.

    Before its operator runs, nothing may say that a node has GPUs. Pools without names and labels of their own
    cannot be distinguished, so they get their nodes together, with the first of them.
    """
    known, found = stack.spec.catalog, []
    for number, pool in enumerate(stack.spec.cluster.pools):
        listed = known.find(pool.shape)
        if listed is None:
            continue
        shape = with_own_nics(listed, stack.spec.fabric)
        names, labels = set(pool.named_nodes), {**type_labels(shape), **pool.labels}
        if names:
            nodes = [node for node in cluster.nodes if name_of(node) in names]
        elif labels:
            nodes = [node for node in cluster.nodes if labels.items() <= labels_of(node).items()]
        else:
            nodes = [node for node in cluster.nodes if has_gpus(node, shape)]
        startup = startup_taints(stack.spec, pool)
        alone = len(stack.spec.cluster.pools) == 1
        found.append(Pool(number, pool, shape, tuple(nodes), bool(names or labels or (alone and nodes)), startup))
    return tuple(found)


def has_gpus(node: Json, shape: Shape) -> bool:
    """Whether something says that a node has GPUs of the shape's vendor: its resources, or labels of discovery."""
    vendor, labels = shape.gpus.vendor, labels_of(node)
    if shape.gpus.resource in (field(node, "status", "capacity") or {}):
        return True
    classes = ("0300", "0302", "1200", "0380")
    by_discovery = (
        f"feature.node.kubernetes.io/pci-{part}{_VENDOR_IDS[vendor]}.present"
        for part in ("", *(f"{c}_" for c in classes))
    )
    return labels.get(f"{vendor}.com/gpu.present") == "true" or any(labels.get(key) == "true" for key in by_discovery)


def workers(cluster: Cluster) -> tuple[Json, ...]:
    """The nodes that are not of the control plane."""
    return tuple(node for node in cluster.nodes if not any(role in labels_of(node) for role in _ROLES))
