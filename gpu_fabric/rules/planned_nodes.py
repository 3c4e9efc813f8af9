"""The GPU nodes as selectors see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from gpu_fabric.catalog import Shape
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL, Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.startup_taint import startup_taint
from gpu_fabric.spec.cluster import PoolSpec
from gpu_fabric.spec.places import dotted

_Spec = TypeVar("_Spec", bound=PoolSpec)


class PlacedPool(NamedTuple, Generic[_Spec]):
    """A pool of the stack file, with its place in the list of pools and the shape of its machines."""

    number: int
    spec: _Spec
    shape: Shape

    def at(self, *keys: str | int) -> str:
        """The path of one of the pool's keys in the stack file."""
        return dotted(("cluster", "pools", self.number, *keys))


AnyPool = PlacedPool[PoolSpec]


def place_pools(pools: Iterable[_Spec], shapes: Iterable[Shape]) -> list[PlacedPool[_Spec]]:
    """Pools with their places, in order."""
    return [PlacedPool(number, *pair) for number, pair in enumerate(zip(pools, shapes, strict=True))]


def placed_pools(case: Case) -> list[AnyPool]:
    """All pools of the stack file, on every provider."""
    return place_pools(case.spec.cluster.pools, case.shapes)


def is_tainted(case: Case) -> bool:
    """Whether all GPU pools of a cluster that exists have taints; clusters of the clouds have a pool without."""
    # That of nodes that are not proven goes later: what takes it off comes after the operators.
    startup = startup_taint(case.spec.fabric) is not None
    return case.choices.provider == "existing" and all(
        startup or pool.spec.taints_with(pool.shape.gpus.vendor) for pool in placed_pools(case)
    )


def unnamed_pools(case: Case) -> list[AnyPool]:
    """The pools whose nodes the stack file does not name."""
    return [pool for pool in placed_pools(case) if not pool.spec.node_names]


def node_groups(case: Case) -> tuple[NodeGroup, ...]:
    """The node groups of the stack."""
    return case.groups


def first_pool(case: Case, group: NodeGroup) -> AnyPool:
    """The group's first pool."""
    return next(pool for pool in placed_pools(case) if group_of(case, pool.spec) is group)


def group_of(case: Case, pool: PoolSpec) -> NodeGroup:
    """The node group of a pool.

    Raises:
        StopIteration: the pool is not one of the stack.
    """
    return next(group for group in case.groups if group.shape.name == pool.shape)


def labels_of_pools(case: Case) -> tuple[dict[str, str], ...]:
    """All labels that the nodes of each pool are known to carry, in pool order.

    They are the pool's own, the machine type where a cloud marks it, and the one of nodes with NICs of the vendor.
    """
    found = []
    for pool in case.spec.cluster.pools:
        group = group_of(case, pool)
        by_type = {key: text for key, text in group.labels.items() if key == INSTANCE_TYPE_LABEL}
        found.append({**by_type, **pool.labels, **group.nic_labels})
    return tuple(found)


def rails_without_address(group: NodeGroup) -> str:
    """The numbers of the rails whose NIC's PCI address is not known, with commas; empty where all are."""
    return ", ".join(str(rail) for rail, nic in enumerate(group.shape.nics) if nic.pci is None)


def sets_rdma_mode(case: Case) -> str | None:
    """What switches the nodes to the RDMA mode in addition to host preparation; None if nothing does.

    Spiderpool's SR-IOV operator is an older one, which knows no mode; the Network Operator's leaves shared alone, which
    nodes start in.
    """
    choices = case.choices
    if choices.virtual_functions == "daemon-set":
        return "the DaemonSet that creates virtual functions"
    by_operator = manager_of(case).sriov_operator_knows_rdma_mode and choices.virtual_functions == "sriov-operator"
    return "the SR-IOV operator" if by_operator and choices.rdma_mode == "exclusive" else None


def prepares_rdma_mode(case: Case) -> bool:
    """Whether host preparation switches the nodes to the RDMA mode; a dry run only reports what it would do."""
    wanted = case.spec.fabric.host_preparation
    return wanted.rdma_mode and not wanted.dry_run
