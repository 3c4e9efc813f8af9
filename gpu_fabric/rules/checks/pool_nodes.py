"""Checks of the group `cluster`: labels and names of the pools' nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.nodes import SetLabel
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted


@check("CLU013")
def labels_are_not_others(case: Case) -> Iterator[Problem]:
    """No pool says of its nodes what kubelet and the cloud say otherwise."""
    known, cloud = case.known.node_labels, case.choices.provider in CLOUD_SHAPES
    for place, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        for key, value in pool.labels.items():
            row = known.set.get(key)
            if row is not None and (wrong := _wrong(row, value, shape, case)):
                message, remedy = wrong, "leave it out; write a label in a domain of your own"
            elif cloud and known.kubelet.refuse(key):
                message = "kubelet does not start with a label of this domain, and the node would not join"
                remedy = f"write a label in a domain of your own, or in {' or '.join(known.kubelet.takes)}"
            else:
                continue
            yield Problem(dotted(("cluster", "pools", place, "labels", key)), message, remedy)


def _wrong(row: SetLabel, value: str, shape: Shape, case: Case) -> str | None:
    """What is wrong with a label that others set."""
    if row.own:
        return f"{row.by} gives every node its own value"
    if case.choices.provider in CLOUD_SHAPES:
        return f"{row.by} sets it"
    if row.values and value not in row.values:
        return f"the nodes have {' or '.join(row.values)}: no job would find them by {value}"
    # A name of one's own for the machines is another matter: who runs an existing cluster may label its nodes so.
    if row.type and value != shape.name and case.known.find(value) is not None:
        return f"the nodes are {shape.name}: jobs and networks would go to machines of type {value}"
    return None


def _pinned(case: Case) -> bool:
    return case.demand.layout == "per-node"


def _with_addresses(case: Case) -> bool:
    return case.spec.fabric.host_preparation.addresses


@check("CLU014")
def all_pools_name_their_nodes(case: Case) -> Iterator[Problem]:
    """Where one pool names its nodes and shares follow the names, all pools do."""
    pools = case.spec.cluster.pools
    if not _pinned(case) or _with_addresses(case) or not any(pool.node_names for pool in pools):
        return
    for place, pool in enumerate(pools):
        if not pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"pool {pool.name} names no nodes, so that the names of the other pools pin no shares either",
                f"add the names of its {pool.nodes} nodes, or leave nodeNames out of all pools",
            )


@check("CLU015")
def names_of_nodes_have_an_effect(case: Case) -> Iterator[Problem]:
    """Nodes are named only where shares or addresses follow the names."""
    if _pinned(case) or _with_addresses(case) or case.spec.split.part == "cluster":
        return
    for place, pool in enumerate(case.spec.cluster.pools):
        if pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"they have no effect: with the layout {case.demand.layout} no share follows a node's name",
                "leave it out; names count with the layout per-node, and with hostPreparation.addresses",
            )
