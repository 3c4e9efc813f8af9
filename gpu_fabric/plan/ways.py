"""What hands out a node's NICs while waves take nodes from one manager to another: a label of the node decides.

The software of either manager runs on a node by this label alone, so no node has both. A node without the label, such
as one that has just joined, is served as before the change: by the manager that nodes are taken from (`home`).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.k8s.scheduling import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.records import CHANGING, PlannedWay, Way
from gpu_fabric.spec.fabric import Manager

WAYS: dict[Manager, Way] = {"network-operator": "plugin", "dranet": "claims"}
"""The managers between which waves take nodes, by what hands out NICs with them."""

_DRIVER = "dra.net"


def planned_way(case: Case) -> PlannedWay | None:
    """The way of the stack's manager; None unless waves take nodes from one manager to another."""
    upgrade, way = case.spec.upgrade, WAYS.get(case.choices.manager)
    if upgrade is None or upgrade.from_manager is None or way is None:
        return None
    names = case.line.images.names
    plugins = (names[name] for name in ("sriovDevicePlugin", "rdmaSharedDevicePlugin") if name in names)
    return PlannedWay(
        way=way,
        home=WAYS[upgrade.from_manager],
        driver=_DRIVER,
        images=tuple(sorted({*plugins, *case.known.dra_drivers[_DRIVER].images})),
    )


def nodes_of_way(case: Case, labels: Mapping[str, str] = {}) -> NodeAffinity | None:
    """The nodes with these labels on which the manager's software may run; None for all nodes."""
    planned = planned_way(case)
    expressions = [NodeSelectorRequirement(key=key, operator="In", values=(labels[key],)) for key in sorted(labels)]
    if planned is not None and planned.way != planned.home:
        expressions.append(NodeSelectorRequirement(key=WAY_LABEL, operator="In", values=(planned.way,)))
    elif planned is not None:
        others = tuple(sorted({*WAYS.values(), CHANGING} - {planned.way}))
        expressions.append(NodeSelectorRequirement(key=WAY_LABEL, operator="NotIn", values=others))
    if not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions))
    return NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=(term,)))


def namespaces_of_ways(case: Case) -> set[str]:
    """The namespaces of both managers: pods there do not count as jobs."""
    if planned_way(case) is None:
        return set()
    return {
        manager_of(case).namespace,
        *(case.line.charts[name].namespace for name in WAYS if name in case.line.charts),
    }
