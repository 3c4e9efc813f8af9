"""Checks of the group `gpu_operator`: values that take GPUs from jobs, share them, or change who brings the driver."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import ChartValues, charts_in_use, driver_comes, value_at
from gpu_fabric.rules.registry import Problem, check

# What a configuration of NVIDIA's device plug-in says where it shares GPUs. Source: the plug-in's documentation.
_SHARING = ("timeSlicing", "mps", "migStrategy")


@check("GPU006")
def values_leave_whole_gpus(case: Case) -> Iterator[Problem]:
    """The GPU Operator's values leave jobs their GPUs, each of them whole."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None:
        return
    for keys, why in _taken(chart):
        yield Problem(chart.place(*keys), why, "leave it out; jobs of the fabric ask for whole GPUs of all its nodes")


def _taken(chart: ChartValues) -> Iterator[tuple[tuple[str, ...], str]]:
    values = chart.values
    workload = value_at(values, "sandboxWorkloads", "defaultWorkload")
    if value_at(values, "sandboxWorkloads", "enabled") is True and workload not in (None, "container"):
        yield ("sandboxWorkloads", "defaultWorkload"), f"{workload} gives the nodes' GPUs to virtual machines"
    for name, value in _environment(value_at(values, "devicePlugin", "env")):
        if name == "MIG_STRATEGY" and value == "mixed":
            yield ("devicePlugin", "env"), "MIG_STRATEGY=mixed: jobs ask for whole GPUs, which partitions are not"
    data = value_at(values, "devicePlugin", "config", "data")
    for name, text in data.items() if isinstance(data, dict) else ():
        if isinstance(text, str) and any(word in text for word in _SHARING):
            yield ("devicePlugin", "config", "data", name), "several pods would share a GPU, or get a part of one"


def _environment(value: JsonValue) -> Iterator[tuple[str, str]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("name")), str(entry.get("value"))


@check("GPU007")
def configurations_of_the_plugin_are_seen(case: Case) -> Iterator[Problem]:
    """The GPU Operator's device plug-in has no configuration that nothing here shows."""
    chart = charts_in_use(case).get("gpu-operator")
    name = None if chart is None else value_at(chart.values, "devicePlugin", "config", "name")
    if chart is not None and name and not value_at(chart.values, "devicePlugin", "config", "data"):
        yield Problem(
            chart.place("devicePlugin", "config", "name"),
            f"the ConfigMap {name} decides how GPUs are advertised, and nothing here shows what it says",
            "see that it shares no GPU (timeSlicing, mps) and no strategy mixed, or leave it out",
        )


@check("GPU008")
def values_and_switches_agree_on_the_driver(case: Case) -> Iterator[Problem]:
    """The GPU driver comes as the switch says, and not to nodes whose image has it."""
    chart = charts_in_use(case).get("gpu-operator")
    if chart is None or not driver_comes(chart):
        return
    switch, written = case.spec.software.gpu_operator.driver, value_at(chart.written, "driver", "enabled")
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
