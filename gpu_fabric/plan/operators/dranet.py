"""DRANET: a DaemonSet that publishes the fabric's NICs, and moves those that are claimed into their pods.

Its chart has no DeviceClass; class and templates are the stack's own, and come after it. It does not touch the nodes'
container runtime: the manifest that restarts containerd 1.7 with NRI on is not part of the chart.
"""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.k8s.scheduling import NodeAffinity, nodes_with
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import DRIVER, published
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, ON_NODES, OwnChart, chart_operator
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.ways import nodes_of_way


def _needed(case: Case) -> bool:
    return manager_of(case).dra_driver == DRIVER


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from the chart's defaults."""
    by_oracle = all(fabric.shape.provider == "oci" for fabric in case.fabrics)
    # Without a hint it asks the metadata services of all clouds when it starts.
    arguments: dict[str, JsonValue] = {"filter": published(case), "cloudProviderHint": "OKE" if by_oracle else "NONE"}
    if any(fabric.choices.link_type == "infiniband" for fabric in case.fabrics):
        # Pods use verbs alone: an IPoIB interface stays on the host, and the NIC is published by its RDMA device.
        arguments["moveIBInterfaces"] = False
    values: dict[str, JsonValue] = {"args": arguments}
    selectors = [fabric.node_selector for fabric in case.fabrics]
    if len(selectors) == 1 and selectors[0]:
        values["nodeSelector"] = dict(selectors[0])
    elif len(selectors) > 1 and all(selectors):
        affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=nodes_with(*selectors))
        values["affinity"] = {"nodeAffinity": affinity.to_dict()}
    if (of_way := nodes_of_way(case)) is not None:
        # A rule refuses several fabrics next to it.
        values["affinity"] = {"nodeAffinity": of_way.to_dict()}
    if any(entry.effect != "NoSchedule" for fabric in case.fabrics for entry in node_tolerations(fabric)):
        # The default tolerates the effect NoSchedule alone.
        values["tolerations"] = [{"operator": "Exists"}]
    return values


CHART = OwnChart("dranet", _values, _needed)
# It reads the nodes' RDMA mode once, when it starts.
OPERATOR = chart_operator(CHART, note="", after=(*LABELLED, *ON_NODES))
