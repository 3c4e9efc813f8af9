"""The pools outside the fabric: their machines, and the contract of the pods that run on them."""

from __future__ import annotations

from typing import NamedTuple

from gpu_fabric.catalog import Shape
from gpu_fabric.contract.cluster import OtherNodes
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL, Case
from gpu_fabric.plan.clouds import POOL_LABEL, PREEMPTIBLE
from gpu_fabric.spec.cluster import OtherPoolSpec, most_nodes
from gpu_fabric.spec.oke import OkeOtherPoolSpec
from gpu_fabric.spec.places import dotted


class OtherPool(NamedTuple):
    """A pool outside the fabric, with its place in the list, and the shape of its machines if they have GPUs."""

    number: int
    spec: OtherPoolSpec
    shape: Shape | None

    def at(self, *keys: str | int) -> str:
        """The path of one of the pool's keys in the stack file."""
        return dotted(("cluster", "otherPools", self.number, *keys))

    @property
    def machine_key(self) -> str:
        """The key with the machine type, which each cloud calls otherwise."""
        return "shape" if isinstance(self.spec, OkeOtherPoolSpec) else "size"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its nodes that are known before they exist."""
        return {INSTANCE_TYPE_LABEL: self.spec.machine, **self.spec.labels, POOL_LABEL: self.spec.name}

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """What a pod must tolerate to run on its nodes."""
        taints = self.spec.taints_with(None if self.shape is None else self.shape.gpus.vendor)
        found = [Toleration(key=taint.key, operator="Exists", effect=taint.effect) for taint in taints]
        if isinstance(self.spec, OkeOtherPoolSpec) and self.spec.preemptible:
            # Oracle's documentation names the taint and not its effect.
            found.append(Toleration(key=PREEMPTIBLE, operator="Exists"))
        return tuple(dict.fromkeys(found))


def other_pools(case: Case) -> tuple[OtherPool, ...]:
    """The pools outside the fabric, in the order of the stack file; clusters that exist have none of this stack's."""
    stated: tuple[OtherPoolSpec, ...] = getattr(case.spec.cluster, "other_pools", ())
    return tuple(OtherPool(number, pool, case.known.find(pool.machine)) for number, pool in enumerate(stated))


def gpu_pools_beside(case: Case) -> tuple[OtherPool, ...]:
    """Those with GPUs, which drivers and device plug-ins have to reach as well."""
    return tuple(pool for pool in other_pools(case) if pool.shape is not None)


def other_nodes(case: Case) -> tuple[OtherNodes, ...]:
    """The contract of each pool outside the fabric."""
    return tuple(
        OtherNodes(
            name=pool.spec.name,
            machine=pool.spec.machine,
            nodes=pool.spec.nodes,
            least_nodes=pool.spec.nodes if pool.spec.auto_scale is None else pool.spec.auto_scale.min_nodes,
            most_nodes=most_nodes(pool.spec),
            gpus_per_node=pool.shape.gpus.count if pool.shape else 0,
            gpu_resource=pool.shape.gpus.resource if pool.shape else None,
            node_selector={POOL_LABEL: pool.spec.name},
            tolerations=pool.tolerations,
            reclaimable=pool.spec.is_reclaimable,
        )
        for pool in other_pools(case)
    )
