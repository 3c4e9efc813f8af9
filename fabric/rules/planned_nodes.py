"""The GPU nodes as selectors see them."""

from __future__ import annotations

from fabric.k8s.mellanox import NIC_LABEL
from fabric.plan.case import INSTANCE_TYPE_LABEL, Case, NodeGroup
from fabric.spec import Pool


def group_of(case: Case, pool: Pool) -> NodeGroup:
    """The kind of nodes that a pool's are.

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
        found.append({**by_type, **pool.labels, NIC_LABEL: "true"})
    return tuple(found)
