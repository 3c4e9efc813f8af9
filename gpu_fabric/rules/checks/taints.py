"""Checks of the group `taints`: jobs and the software on the GPU nodes tolerate the pools' taints.

Values of the stack file are merged last, so what is looked at is what the charts are given in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.startup_taint import startup_taint
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.registry import Problem, check, check_plan, in_software
from gpu_fabric.spec.cluster import TaintSpec
from gpu_fabric.spec.places import Location, dotted

_EVERY: JsonValue = [{"operator": "Exists"}]
_EVERY_PLACEMENT: JsonValue = [{"operator": "Exists", "effect": "NoSchedule"}]
_NVIDIA: JsonValue = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


class _Software(NamedTuple):
    """Pods that every GPU node needs: what they are, where the stack file may change them, what they tolerate."""

    what: str
    place: Location
    tolerations: JsonValue


@check_plan("TNT001")
def jobs_tolerate_the_pools(case: Case, plan: Plan) -> Iterator[Problem]:
    """A job tolerates every taint of the GPU pools."""
    contract = plan.workload
    patch: dict[str, Any] = contract.pod_template_patch
    both = ([entry.to_dict() for entry in contract.tolerations], patch["spec"].get("tolerations"))
    for place, taint in _taints(case):
        if not all(_is_tolerated(entries, taint) for entries in both):
            yield Problem(dotted(place), f"jobs do not tolerate the taint {taint.key}:{taint.effect}")


@check_plan("TNT002")
def software_tolerates_the_pools(case: Case, plan: Plan) -> Iterator[Problem]:
    """Device plug-ins, CNI plug-ins and the labelling of nodes tolerate every taint of the GPU pools."""
    taints = _taints_of_nodes(case)
    for software in _software(plan):
        refused = dict.fromkeys(
            f"{taint.key}:{taint.effect}" for taint in taints if not _is_tolerated(software.tolerations, taint)
        )
        if refused:
            yield Problem(dotted(software.place), f"{software.what} do not tolerate {', '.join(refused)}")


@check("TNT003")
def driver_containers_reach_the_pools(case: Case) -> Iterator[Problem]:
    """The pods of the chart ofed-driver reach the GPU nodes, as far as is known."""
    if "ofed-driver" in charts_in_use(case) and (taints := _taints_of_nodes(case)):
        yield Problem(
            in_software("ofedDriver"),
            f"its chart is not known to have a key for tolerations, and the GPU nodes have the taint {taints[0].key}",
        )


def _taints(case: Case) -> Iterator[tuple[Location, TaintSpec]]:
    """The taints that keep pods off, each with its place."""
    for number, (pool, shape) in enumerate(zip(case.spec.cluster.pools, case.shapes, strict=True)):
        for taint in pool.taints_with(shape.gpus.vendor):
            if taint.effect != "PreferNoSchedule":
                yield ("cluster", "pools", number, "taints"), taint


def _taints_of_nodes(case: Case) -> list[TaintSpec]:
    """The taints of the pools, and that of nodes that are not proven."""
    startup = startup_taint(case.spec.fabric)
    return [*(taint for _, taint in _taints(case)), *([] if startup is None else [startup])]


def _software(plan: Plan) -> Iterator[_Software]:
    if (chart := plan.release("gpu-operator")) is not None:
        values, where = chart.values, ("software", "gpuOperator", "values")
        yield _chart_pods(values, where, "the GPU Operator's DaemonSets", ("daemonsets", "tolerations"), _NVIDIA)
        # This chart and the Network Operator's spell the switch alike, and mean opposite things where it is left out.
        if field(values, "nfd", "enabled") is not False:
            yield _labelling_pods(values, where)
    if (chart := plan.release("network-operator")) is not None:
        values, where = chart.values, ("software", "networkOperator", "values")
        if field(values, "nfd", "enabled") is True:
            yield _labelling_pods(values, where)
        # Older lines create the policy from the chart's values.
        if not plan.applied("nic-policies"):
            yield _chart_pods(values, where, "the Network Operator's operands", ("tolerations",), _NVIDIA)
    for policy in (entry.object for entry in plan.applied("nic-policies", "nic-node-policies")):
        if isinstance(policy, (NicClusterPolicy, NicNodePolicy)):
            yield _own_pods(f"the operands of {policy.kind} {policy.metadata.name}", policy.spec.tolerations)
    # What this project itself runs on the nodes, with the files that it is given.
    daemons = plan.applied(
        "cni-plugins", "virtual-functions", "host-preparation", "nic-addresses", "check", "readiness"
    )
    for made in (entry.object for entry in daemons):
        if isinstance(made, DaemonSet):
            yield _own_pods(f"the pods of the DaemonSet {made.metadata.name}", made.spec.template.spec.tolerations)
    if (chart := plan.release("whereabouts")) is not None:
        values, where = chart.values, ("software", "whereabouts", "values")
        yield _chart_pods(values, where, "Whereabouts' pods", ("tolerations",), _EVERY_PLACEMENT)
    if (chart := plan.release("spiderpool")) is not None:
        values, where = chart.values, ("software", "spiderpool", "values")
        yield _chart_pods(values, where, "Spiderpool's agents", ("spiderpoolAgent", "tolerations"), _EVERY)
        if plan.shared_plugin is not None:
            key = ("rdma", "rdmaSharedDevicePlugin", "tolerations")
            yield _chart_pods(values, where, "Spiderpool's device plug-ins", key, _EVERY)


def _own_pods(what: str, tolerations: Sequence[Toleration] | None) -> _Software:
    return _Software(what, ("cluster", "pools"), [entry.to_dict() for entry in tolerations or ()])


def _labelling_pods(values: JsonValue, where: Location) -> _Software:
    key = ("node-feature-discovery", "worker", "tolerations")
    return _chart_pods(values, where, "the workers of Node Feature Discovery", key, _NVIDIA)


def _chart_pods(values: JsonValue, where: Location, what: str, key: tuple[str, ...], default: JsonValue) -> _Software:
    found = field(values, *key)
    return _Software(what, (*where, *key), default if found is None else found)


def _is_tolerated(entries: JsonValue | Sequence[dict[str, Any]], taint: TaintSpec) -> bool:
    """Whether one entry of a pod's tolerations covers a taint (Kubernetes documentation, taints)."""
    return isinstance(entries, list) and any(isinstance(entry, dict) and _covers(entry, taint) for entry in entries)


def _covers(entry: dict[str, Any], taint: TaintSpec) -> bool:
    exists = entry.get("operator", "Equal") == "Exists"
    if entry.get("key") not in (None, "", taint.key) or entry.get("effect") not in (None, "", taint.effect):
        return False
    return exists or (entry.get("key") == taint.key and entry.get("value", "") == taint.value)
