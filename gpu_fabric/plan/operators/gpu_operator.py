"""NVIDIA's GPU Operator: the values of its chart, and what is waited for once it is installed.

It owns the cluster's one Node Feature Discovery, so whatever needs node labels comes after it; what needs working GPUs
and a container runtime at rest comes after its policy is ready. That alone says too little: it is ready before any GPU
node is known, and again for a moment after, so the nodes' GPUs are waited for, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from gpu_fabric.plan.case import Case, has_lasting_nodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import Operator, OwnChart
from gpu_fabric.plan.operators.releases import discovery_values, extra_tolerations
from gpu_fabric.plan.records import Item, PlannedCapacity, PlannedReadiness
from gpu_fabric.plan.steps import NODES, Context, Step, Words, conditions
from gpu_fabric.spec.doks import DoksClusterSpec

# The GPU Operator's own label of nodes in which Node Feature Discovery has found a GPU.
_WITH_GPU = {"nvidia.com/gpu.present": "true"}
_RECONCILED = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Reconciled'


def _needed(case: Case) -> bool:
    """Whether the stack needs NVIDIA's GPU Operator, which serves NVIDIA's GPUs only.

    By default always, unless DigitalOcean manages the nodes' plug-ins or the cluster has one.
    """
    cluster = case.spec.cluster
    if case.shape.gpus.vendor != "nvidia":
        return False
    if case.spec.software.gpu_operator.install:
        return True
    if isinstance(cluster, DoksClusterSpec):
        return cluster.plugins.gpu == "operator" and "gpu-operator" not in cluster.installed
    if case.cloud is not None:
        return not case.cloud.has("gpu-plugin")
    return manager_of(case).devices_advertised_by is None


def _values(case: Case) -> dict[str, JsonValue]:
    """The GPU Operator, owner of the cluster's one Node Feature Discovery unless the cluster has one.

    Only what differs from the chart's own defaults is written, but for the driver, whose default is the other way.
    """
    switches = case.spec.software.gpu_operator
    driver: dict[str, JsonValue] = {"enabled": switches.driver}
    if gpu_direct(case) == "peermem":
        # The module is built against the network drivers: the operator's container, or the host's own.
        driver["rdma"] = {"enabled": True, "useHostMofed": not case.spec.software.network_operator.ofed_driver}
    if switches.driver and case.spec.upgrade is not None:
        # Its own upgrade would change and uncordon nodes outside the waves, and proves nothing of the fabric.
        driver["upgradePolicy"] = {"autoUpgrade": False}
    computed: dict[str, JsonValue] = {"driver": driver}
    # The catalog has it off on DigitalOcean's nodes, as it has the device plug-in.
    nodes_have_it = case.cloud is not None and case.cloud.has("container-toolkit")
    toolkit = False if switches.toolkit is None and nodes_have_it else switches.toolkit
    if toolkit is not None and toolkit != (case.shape.provider != "doks"):
        computed["toolkit"] = {"enabled": toolkit}
    cluster = case.spec.cluster
    if isinstance(cluster, DoksClusterSpec) and cluster.plugins.gpu == "operator":
        computed["devicePlugin"] = {"enabled": True}
    if manager_of(case).claims_gpus:
        # The vendor's DRA driver hands out the GPUs, and two owners would hand out each twice.
        computed["devicePlugin"] = {"enabled": False}
    if switches.gdrcopy:
        computed["gdrcopy"] = {"enabled": True}
    if switches.cdi is not None:
        computed["cdi"] = {"enabled": switches.cdi}
    if switches.mig is not None:
        computed["mig"] = {"strategy": switches.mig}
    if not switches.dcgm_exporter:
        computed["dcgmExporter"] = {"enabled": False}
    elif switches.service_monitor:
        computed["dcgmExporter"] = {"serviceMonitor": {"enabled": True}}
    # With waves a node's pods change when something deletes them, once no job is left there.
    daemon_sets: dict[str, JsonValue] = {} if case.spec.upgrade is None else {"updateStrategy": "OnDelete"}
    if (accepted := extra_tolerations(case)) is not None:
        daemon_sets["tolerations"] = accepted
    if daemon_sets:
        computed["daemonsets"] = daemon_sets
    if switches.feature_discovery and case.spec.software.node_feature_discovery.install is not False:
        computed |= discovery_values(case)
    else:
        computed["nfd"] = {"enabled": False}
    return computed


def gpu_direct(case: Case) -> str:
    """How NICs reach GPU memory: as the stack says, or as the release line's default."""
    return case.spec.software.gpu_operator.gpu_direct or case.line.gpu_direct.default


def gpu_operator_ready(case: Case) -> PlannedReadiness:
    """The chart's ClusterPolicy: Helm's own wait ends before its operands have reached the nodes.

    It is `ready` for the reason NFDLabelsMissing or NoGPUNodes, too, as long as no node with a GPU is known, for which
    no operand has been looked at (controllers/clusterpolicy_controller.go of v23.9.1 and v26.3.3). So the reason is
    waited for where there are GPU nodes.
    """
    return PlannedReadiness(
        api_version="nvidia.com/v1",
        kind="ClusterPolicy",
        name="cluster-policy",
        wait_for="jsonpath={.status.state}=ready",
        also_for=_RECONCILED if has_lasting_nodes(case) else None,
        timeout=case.line.charts["gpu-operator"].timeout,
    )


def plan_gpu_capacity(case: Case, values: Mapping[str, JsonValue], timeout: int) -> PlannedCapacity | None:
    """The GPUs that the operator's device plug-in must offer before anything relies on its operands.

    Its ClusterPolicy is `ready` before any GPU node is known, and again for a moment after. None where the plug-in is
    not the operator's, or offers other resources than whole GPUs.
    """
    plugin, mig = values.get("devicePlugin"), values.get("mig")
    settings = plugin if isinstance(plugin, dict) else {}
    parts = mig if isinstance(mig, dict) else {}
    if settings.get("enabled") is False or settings.get("config") or parts.get("strategy") == "mixed":
        return None
    return PlannedCapacity(
        nodes={**case.node_labels, **_WITH_GPU},
        count=int(has_lasting_nodes(case)),
        resources={case.shape.gpus.resource: None},
        timeout=timeout,
    )


CHART = OwnChart("gpu-operator", _values, _needed)


def _steps(context: Context) -> Iterator[Step]:
    case = context.case
    planned, ready = CHART.release(case), gpu_operator_ready(case)
    offered = plan_gpu_capacity(case, planned.values, planned.timeout)
    waits = f"its pods, and {ready.name} {conditions(ready)}"
    waits += "" if offered is None else f", and {', '.join(offered.resources)} on the nodes"
    chart = CHART.step(planned, waits=waits)
    yield chart
    yield _step("gpu-operator-ready", ready, (chart.name, NODES))
    if offered is not None:
        yield _step("gpu-capacity", offered, ("gpu-operator-ready",))


def _steps_of_present(context: Context) -> Iterator[Step]:
    """GPUs that the nodes offer: by the cluster's operator, or by another device plug-in of its own.

    Nothing where pods claim GPUs: a DRA driver publishes them, and nodes offer none.
    """
    case = context.case
    if manager_of(case).claims_gpus:
        return
    offered = PlannedCapacity(
        nodes=case.node_labels or _WITH_GPU,
        count=int(has_lasting_nodes(case)),
        resources={case.shape.gpus.resource: None},
        timeout=case.line.charts[CHART.name].timeout,
    )
    waits = f"{case.shape.gpus.resource} on the nodes"
    words = (Words(title="GPUs", what="nothing is created", waits=waits),)
    yield Step(
        name="gpu-capacity", component=CHART.name, kind=CHART.kind, items=(offered,), after=(NODES,), words=words
    )


OPERATOR = Operator(_steps, CHART, steps_of_present=_steps_of_present)


def _step(name: str, item: Item, after: tuple[str, ...]) -> Step:
    return Step(name=name, component=CHART.name, kind=CHART.kind, items=(item,), after=after)
