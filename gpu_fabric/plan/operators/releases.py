"""From where charts come, how their values are put together, and what is the same in all of them."""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.base.registries import pulled_chart
from gpu_fabric.catalog import Chart, ChartName
from gpu_fabric.k8s.nvidia import GPU_TOLERATION
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.chart_images import with_mirrors
from gpu_fabric.plan.records import ChartReference, HelmRelease
from gpu_fabric.plan.values import merged

# What Node Feature Discovery's worker tolerates by default beside the GPU taint; a list of ours replaces all of it.
_CONTROL_PLANE = Toleration(key="node-role.kubernetes.io/control-plane", operator="Exists", effect="NoSchedule")


def tolerations(case: Case) -> tuple[Toleration, ...]:
    """What every operand and every job must tolerate to reach the GPU nodes; the pools' taints, each once."""
    taints = {
        (taint.key, taint.effect)
        for pool, shape in zip(case.spec.cluster.pools, case.shapes, strict=True)
        for taint in pool.taints_with(shape.gpus.vendor)
    }
    return tuple(Toleration(key=key, operator="Exists", effect=effect) for key, effect in sorted(taints))


def beyond_default(case: Case) -> JsonValue | None:
    """Tolerations of operands whose own default does not cover every taint of the pools; None where it does."""
    needed = tolerations(case)
    if set(needed) <= {GPU_TOLERATION}:
        return None
    return [entry.to_dict() for entry in dict.fromkeys((GPU_TOLERATION, *needed))]


def labelling(case: Case) -> dict[str, JsonValue]:
    """Values of Node Feature Discovery, the same in both charts.

    Where its default does not tolerate the pools, the worker stays off them, and every operand waits for labels that
    never come.
    """
    beyond = beyond_default(case)
    if not isinstance(beyond, list):
        return {}
    return {"node-feature-discovery": {"worker": {"tolerations": [_CONTROL_PLANE.to_dict(), *beyond]}}}


def release(case: Case, name: ChartName, computed: dict[str, JsonValue], override: dict[str, JsonValue]) -> HelmRelease:
    """A release of a chart of the line: its own values, those of the vendor's machines, the plan's, the user's."""
    chart = case.line.charts[name]
    hosts = chart.host_values.get(case.shape.provider, {})
    return HelmRelease(
        name=name,
        namespace=chart.namespace,
        chart=_reference(case, name, chart),
        values=with_mirrors(case, name, chart.version, merged(chart.values, hosts, computed, override)),
        timeout=chart.timeout,
    )


def _reference(case: Case, name: ChartName, chart: Chart) -> ChartReference:
    source = case.spec.software.charts
    published = chart.chart or name
    if source == "bundled":
        path = f"sandbox/charts/{case.line.name}/{name}"
        return ChartReference(name=published, version=chart.version, path=path)
    repository = pulled_chart(case.spec.software.registries, chart.repository) if source == "upstream" else source
    return ChartReference(name=published, version=chart.version, repository=repository)
