"""The steps in which a plan is applied: what each applies, and what it then waits for, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabric.plan import HelmRelease, Plan

_TITLES = {
    "gpu-operator": "GPU Operator",
    "network-operator": "Network Operator",
    "spiderpool": "Spiderpool",
    "whereabouts": "Whereabouts",
}


class Step(NamedTuple):
    """One step; `waits` is empty where what was applied is ready when created."""

    title: str
    what: str
    waits: str = ""


def steps(plan: Plan) -> Iterator[Step]:
    """The steps in order; some run at the same time, and say so."""
    if plan.namespaces:
        yield Step("namespaces", ", ".join(entry.name for entry in plan.namespaces))
    # A chart that makes the policy starts the device plug-ins, so what the nodes need comes before it.
    nodes_come_first = plan.policy_ready is not None
    for release in plan.releases:
        if release is plan.network_operator and nodes_come_first:
            yield from _on_nodes(plan)
        yield _release(plan, release)
    if not nodes_come_first:
        yield from _on_nodes(plan)
    yield from _policies(plan)
    for title, objects in (("IP pools", plan.ip_pools), ("networks", plan.networks)):
        if objects:
            yield Step(title, f"{len(objects)} {objects[0].object.kind}")
    files = len(plan.nccl_config_maps)
    yield Step("NCCL files", f"{files} ConfigMap{'s' if files > 1 else ''}")


def _release(plan: Plan, release: HelmRelease) -> Step:
    what = f"chart {release.chart.name} {release.chart.version} in {release.namespace}"
    waits = "its pods"
    if release is plan.gpu_operator and plan.gpu_operator_ready is not None:
        waits += f", and {plan.gpu_operator_ready.name} {_condition(plan.gpu_operator_ready.wait_for)}"
    elif plan.gpu_operator is not None and not plan.network_operator_needs_nfd:
        what += ", at the same time"
    return Step(_TITLES[release.name], what, waits)


def _on_nodes(plan: Plan) -> Iterator[Step]:
    """What the stack puts on the nodes itself."""
    for title, planned in (("CNI plug-ins", plan.cni_plugins), ("virtual functions", plan.virtual_functions)):
        daemons = [entry.name for entry in planned if entry.object.kind == "DaemonSet"]
        if daemons:
            several = "s" if len(daemons) > 1 else ""
            yield Step(title, f"DaemonSet{several} {', '.join(daemons)}", "its pods on every node")


def _policies(plan: Plan) -> Iterator[Step]:
    if plan.policy_ready is not None:
        yield Step("policy", "by the chart", f"{plan.policy_ready.name} {_condition(plan.policy_ready.wait_for)}")
    for entry in (*((plan.policy,) if plan.policy else ()), *plan.node_policies):
        yield Step("policy", f"{entry.object.kind} {entry.name}", _condition(entry.wait_for))
    for rollout in plan.plugin_rollouts:
        yield Step("device plug-in", f"DaemonSet {rollout.daemon_set}, rolled when configured otherwise")
    if plan.sriov_synced is not None:
        what = f"{len(plan.sriov_policies) - 1} SriovNetworkNodePolicy, SriovNetworkPoolConfig"
        yield Step("SR-IOV", what, f"{plan.sriov_synced.field} {plan.sriov_synced.value} on every GPU node")


def _condition(wait_for: str | None) -> str:
    return "" if wait_for is None else wait_for.removeprefix("jsonpath=")
