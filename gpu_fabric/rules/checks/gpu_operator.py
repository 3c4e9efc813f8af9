"""Checks of the GPU Operator: how NICs reach GPU memory, partitioned or shared GPUs, and who installs the driver."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog.version import Version
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.gpu_operator import gpu_direct
from gpu_fabric.rules.chart_values import ChartValues, chart_in_use, charts_in_use, has_driver
from gpu_fabric.rules.registry import Problem, check, check_of, in_software
from gpu_fabric.spec.places import Location, dotted

# Before it the driver's key was another one, and its default the proprietary modules.
_WITH_MODULE_TYPE = Version.parse("25.3")
# The label by which a node's GPUs are partitioned.
_PARTITIONS, _WHOLE = "nvidia.com/mig.config", "all-disabled"
# Keys of a configuration of NVIDIA's device plug-in that shares GPUs. Source: the plug-in's documentation.
_SHARING = ("timeSlicing", "mps", "migStrategy")
_switch = partial(in_software, "gpuOperator")


@check_of("GPU001", chart_in_use("gpu-operator"))
def nodes_load_the_peer_module(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The user knows where the node image must load nvidia_peermem."""
    if gpu_direct(case) == "peermem" and not has_driver(chart):
        stated = case.spec.software.gpu_operator.gpu_direct is not None
        yield Problem(_switch("gpuDirect") if stated else in_software("releaseLine"))


@check_of("GPU002", chart_in_use("gpu-operator"))
def open_modules_come_with_dma_buf(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """GPUDirect by DMA-BUF comes with the driver's open kernel modules."""
    if gpu_direct(case) != "dma-buf" or not has_driver(chart):
        return
    if not Version.parse(chart.version).has_reached(_WITH_MODULE_TYPE):
        if chart.value("driver", "useOpenKernelModules") is not True:
            yield Problem(
                _switch("gpuDirect"),
                f"the driver of {chart.version} has the proprietary kernel modules by default, and DMA-BUF "
                "needs the open ones",
                "write values: {driver: {useOpenKernelModules: true}}, or gpuDirect: peermem",
            )
    elif chart.value("driver", "kernelModuleType") == "proprietary":
        yield Problem(
            chart.place("driver", "kernelModuleType"),
            "DMA-BUF needs the open kernel modules",
            "write open or leave it out, or write gpuDirect: peermem",
        )


@check("GPU003")
def partitions_are_advertised(case: Case) -> Iterator[Problem]:
    """GPUs are partitioned only where their partitions are advertised."""
    if "gpu-operator" in charts_in_use(case) and case.spec.software.gpu_operator.mig == "none":
        for place, partitions in _partitions(case):
            yield Problem(
                dotted(place),
                f"the pool's GPUs become {partitions}, which nothing advertises (software.gpuOperator.mig is none)",
            )


@check_of("GPU004", chart_in_use("gpu-operator"))
def jobs_get_whole_gpus(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """What a job requests as GPUs are whole GPUs."""
    gpus, strategy = case.shape.gpus, chart.value("mig", "strategy")
    keep_whole = f"leave the fabric's nodes unpartitioned: the label {_PARTITIONS}={_WHOLE}, or none"
    if strategy == "mixed":
        yield Problem(
            chart.decided_at("mig", "mig", "strategy"),
            f"jobs request {gpus.count} of {gpus.resource}, which partitions are not advertised as",
            keep_whole,
        )
    elif strategy != "none":
        for place, partitions in _partitions(case):
            yield Problem(
                dotted(place),
                f"the {gpus.count} of {gpus.resource} that a job requests are partitions ({partitions}) here, not GPUs",
                keep_whole,
            )


def _partitions(case: Case) -> Iterator[tuple[Location, str]]:
    """Pools whose label has their GPUs partitioned: the label's place, and the partitions by name."""
    for number, pool in enumerate(case.spec.cluster.pools):
        partitions = pool.labels.get(_PARTITIONS, _WHOLE)
        if partitions != _WHOLE:
            yield ("cluster", "pools", number, "labels"), partitions


@check("GPU005")
def monitors_have_something_to_monitor(case: Case) -> Iterator[Problem]:
    """A ServiceMonitor for GPU metrics is created only where they are exported."""
    switches = case.spec.software.gpu_operator
    if "gpu-operator" in charts_in_use(case) and switches.service_monitor and not switches.dcgm_exporter:
        yield Problem(_switch("serviceMonitor"))


@check_of("GPU006", chart_in_use("gpu-operator"))
def values_leave_whole_gpus(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The GPU Operator's values leave jobs their GPUs, each of them whole."""
    for keys, why in _values_taking_gpus(chart):
        yield Problem(chart.place(*keys), why)


def _values_taking_gpus(chart: ChartValues) -> Iterator[tuple[tuple[str, ...], str]]:
    values = chart.values
    workload = field(values, "sandboxWorkloads", "defaultWorkload")
    if field(values, "sandboxWorkloads", "enabled") is True and workload not in (None, "container"):
        yield ("sandboxWorkloads", "defaultWorkload"), f"{workload} gives the nodes' GPUs to virtual machines"
    for name, value in _environment(field(values, "devicePlugin", "env")):
        if name == "MIG_STRATEGY" and value == "mixed":
            yield ("devicePlugin", "env"), "MIG_STRATEGY=mixed: jobs ask for whole GPUs, which partitions are not"
    data = field(values, "devicePlugin", "config", "data")
    for name, text in data.items() if isinstance(data, dict) else ():
        if isinstance(text, str) and any(word in text for word in _SHARING):
            yield ("devicePlugin", "config", "data", name), "several pods would share a GPU, or get a part of one"


def _environment(value: JsonValue) -> Iterator[tuple[str, str]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("name")), str(entry.get("value"))


@check_of("GPU007", chart_in_use("gpu-operator"))
def configurations_of_the_plugin_are_seen(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The GPU Operator's device plug-in has no configuration that nothing here shows."""
    name = chart.value("devicePlugin", "config", "name")
    if name and not chart.value("devicePlugin", "config", "data"):
        yield Problem(
            chart.place("devicePlugin", "config", "name"),
            f"the ConfigMap {name} decides how GPUs are advertised, and nothing here shows what it says",
        )


@check_of("GPU008", chart_in_use("gpu-operator"))
def values_and_switches_agree_on_the_driver(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The GPU driver is installed as the switch is set, and not on nodes whose image contains it."""
    if not has_driver(chart):
        return
    switch, written = case.spec.software.gpu_operator.driver, chart.written_value("driver", "enabled")
    if written is not None and not switch:
        yield Problem(
            chart.place("driver", "enabled"),
            "the values install the GPU driver, and the switch gpuOperator.driver is off",
            "leave it out, or write driver: true at gpuOperator as well",
        )
    elif case.shape.provider == "oci":
        yield Problem(
            chart.decided_at("driver", "driver", "enabled"),
            "Oracle's images for machines with GPUs contain the driver, and two drivers keep each other from loading",
            "write driver: false, unless the image is one without it",
        )


@check_of("GPU009", chart_in_use("gpu-operator"))
def the_operator_has_its_policy(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """The GPU Operator's values leave the ClusterPolicy, for which the stack waits."""
    if chart.written_value("gpuCluster", "deployCR") is True:
        yield Problem(chart.place("gpuCluster", "deployCR"), "a GPUCluster excludes the ClusterPolicy of the plan")
    elif chart.written_value("clusterPolicy", "deployCR") is False:
        yield Problem(chart.place("clusterPolicy", "deployCR"), "the stack waits for the ClusterPolicy")
