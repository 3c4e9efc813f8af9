"""Which charts a stack brings, from where, and how values are put together."""

from __future__ import annotations

from pydantic import JsonValue

from fabric.catalog import Chart, ChartName
from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import Namespace
from fabric.k8s.nvidia import GPU_TOLERATION
from fabric.k8s.scheduling import Toleration
from fabric.plan.case import Case
from fabric.plan.operators.chart_images import with_mirrors
from fabric.plan.operators.mpi_operator import MPI_OPERATOR_NAMESPACE, brings_mpi_operator
from fabric.plan.records import ChartReference, HelmRelease, PlannedObject
from fabric.plan.registries import pulled_chart
from fabric.plan.values import merged
from fabric.spec import DoksCluster

SYSTEM_NAMESPACE = "kube-system"
"""Every cluster's own: it exists, and lets privileged pods in."""

_PRIVILEGED = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")}
# What Node Feature Discovery's worker tolerates by default beside the GPU taint; a list of ours replaces all of it.
_CONTROL_PLANE = Toleration(key="node-role.kubernetes.io/control-plane", operator="Exists", effect="NoSchedule")


def charts(case: Case) -> tuple[ChartName, ...]:
    """The charts that the stack brings, in the order of their installation.

    A line that lacks one of them is refused, and looked at all the same.
    """
    return tuple(name for name in wanted_charts(case) if name in case.line.charts)


def wanted_charts(case: Case) -> tuple[ChartName, ...]:
    """The charts that the stack needs, whether or not its release line has them."""
    names: list[ChartName] = []
    if brings_gpu_operator(case):
        names.append("gpu-operator")
    # On the host's network there is nothing for it to install.
    if case.choices.manager == "network-operator" and case.choices.model != "host-network":
        names.append("network-operator")
        # In older lines the operator's own policy brings it.
        if case.choices.ipam == "whereabouts" and case.line.policy_by == "stack":
            names.append("whereabouts")
    if case.choices.manager == "spiderpool":
        if case.spec.software.ofed_driver is not None:
            names.append("ofed-driver")
        names.append("spiderpool")
    if case.spec.software.schedulers.volcano is not None:
        names.append("volcano")
    if case.spec.software.schedulers.kueue is not None:
        names.append("kueue")
    if case.spec.software.schedulers.job_set is not None:
        names.append("jobset")
    return tuple(names)


def brings_gpu_operator(case: Case) -> bool:
    """Whether the stack brings NVIDIA's GPU Operator, which serves its own GPUs only.

    Unless the stack file says: always, but where DigitalOcean manages the nodes' plug-ins or the cluster has one.
    """
    cluster, wanted = case.spec.cluster, case.spec.software.gpu_operator.install
    if case.shape.gpus.vendor != "nvidia":
        return False
    if wanted is not None:
        return wanted
    if isinstance(cluster, DoksCluster):
        return cluster.plugins.gpu == "operator" and "gpu-operator" not in cluster.installed
    return case.choices.manager != "doks"


def namespace_of(case: Case) -> str:
    """The namespace of the manager's operands, and of what this project runs on the nodes: a privileged one."""
    if case.choices.manager == "doks":
        return SYSTEM_NAMESPACE
    manager = "spiderpool" if case.choices.manager == "spiderpool" else "network-operator"
    # A line without the manager's chart is refused, and looked at all the same.
    return case.line.charts[manager].namespace if manager in case.line.charts else manager


def operator_namespaces(case: Case) -> tuple[PlannedObject, ...]:
    """The namespaces of operators and of host preparation; where pods are privileged, Pod Security must let them in."""
    brought = [case.line.charts[name] for name in charts(case)]
    privileged = {chart.namespace for chart in brought if chart.privileged}
    if case.spec.fabric.host_preparation.jobs:
        privileged.add(namespace_of(case))
    without_chart = {MPI_OPERATOR_NAMESPACE} if brings_mpi_operator(case) else set()
    names = sorted(({chart.namespace for chart in brought} | privileged | without_chart) - {SYSTEM_NAMESPACE})
    labels = {name: _PRIVILEGED if name in privileged else None for name in names}
    return tuple(PlannedObject(object=Namespace(metadata=ObjectMeta(name=name, labels=labels[name]))) for name in names)


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
