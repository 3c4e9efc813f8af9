"""The charts of a stack with the values they will get, as rules look at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from fabric.catalog import ChartName
from fabric.plan import operators
from fabric.plan.case import Case
from fabric.spec.places import dotted
from fabric.spec.schedulers import JobSet, Kueue, Volcano
from fabric.spec.software import GpuOperator, NetworkOperator, Whereabouts
from fabric.spec.spiderpool import ContainerOfedDriver, Spiderpool

SECTIONS: dict[ChartName, str] = {
    "gpu-operator": "gpuOperator",
    "network-operator": "networkOperator",
    "spiderpool": "spiderpool",
    "whereabouts": "whereabouts",
    "ofed-driver": "ofedDriver",
    "volcano": "schedulers.volcano",
    "kueue": "schedulers.kueue",
    "jobset": "schedulers.jobSet",
}
"""Each chart's section of `software`."""


class ChartValues(NamedTuple):
    """A chart that the stack brings: its version, the values it will get, and those of them that the user wrote."""

    name: ChartName
    version: str
    values: Mapping[str, JsonValue]
    written: Mapping[str, JsonValue]

    def place(self, *keys: str) -> str:
        """The path of a value in the stack file."""
        return dotted(("software", SECTIONS[self.name], "values", *keys))

    def decided_at(self, switch: str, *keys: str) -> str:
        """The place that decides a value: the value itself where the user wrote it, else the section's switch."""
        if value_at(self.written, *keys) is not None:
            return self.place(*keys)
        return dotted(("software", SECTIONS[self.name], switch))


Charts = Mapping[ChartName, ChartValues]
"""Charts by name."""


def written_values(case: Case) -> dict[ChartName, Mapping[str, JsonValue]]:
    """What the user wrote for each chart, whether or not the stack brings it."""
    sections = {name: _section(case, name) for name in SECTIONS}
    return {name: section.values for name, section in sections.items() if section is not None}


_Section = GpuOperator | NetworkOperator | Spiderpool | Whereabouts | ContainerOfedDriver | Volcano | Kueue | JobSet


def _section(case: Case, name: ChartName) -> _Section | None:
    software = case.spec.software
    sections: dict[ChartName, _Section | None] = {
        "gpu-operator": software.gpu_operator,
        "network-operator": software.network_operator,
        "spiderpool": software.spiderpool,
        "whereabouts": software.whereabouts,
        "ofed-driver": software.ofed_driver,
        "volcano": software.schedulers.volcano,
        "kueue": software.schedulers.kueue,
        "jobset": software.schedulers.job_set,
    }
    return sections[name]


def written_switches(case: Case, name: ChartName) -> tuple[str, ...]:
    """The keys that the stack file has in a chart's section of `software`; empty mappings say nothing."""
    section = _section(case, name)
    if section is None:
        return ()
    fields = type(section).model_fields
    return tuple(
        known.alias or field
        for field, known in fields.items()
        if field in section.model_fields_set and getattr(section, field) != {}
    )


def charts_in_use(case: Case) -> Charts:
    """The charts that the stack brings, by name.

    They lack the device plug-ins' configurations, which come from the plan.
    """
    if (kept := case.kept.get(charts_in_use.__name__)) is None:
        kept = case.kept[charts_in_use.__name__] = _charts_in_use(case)
    found: Charts = kept
    return found


def _charts_in_use(case: Case) -> Charts:
    written = written_values(case)
    found: dict[ChartName, ChartValues] = {}
    for name in operators.charts(case):
        if name == "gpu-operator":
            release = operators.gpu_operator(case)
        elif name == "network-operator":
            release = operators.network_operator(case)
        elif name == "whereabouts":
            release = operators.whereabouts(case)
        elif name == "ofed-driver":
            release = operators.ofed_driver(case)
        elif name == "volcano":
            release = operators.volcano(case)
        elif name == "kueue":
            release = operators.kueue(case)
        elif name == "jobset":
            release = operators.jobset(case)
        else:
            release = operators.spiderpool(case, None)
        found[name] = ChartValues(name, release.chart.version, release.values, written[name])
    return found


def value_at(values: Mapping[str, JsonValue] | JsonValue, *keys: str) -> JsonValue:
    """The value below these keys; None where there is none."""
    here: JsonValue = dict(values) if isinstance(values, Mapping) else values
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    return here


def driver_comes(chart: ChartValues) -> bool:
    """Whether the GPU Operator installs the GPU driver."""
    return value_at(chart.values, "driver", "enabled") is not False


def gpu_operator_parts(chart: ChartValues) -> tuple[tuple[str, str], ...]:
    """What the GPU Operator brings of all that DigitalOcean's nodes have, each with the place that decides it."""
    switches = {"driver": "driver", "toolkit": "toolkit", "devicePlugin": None}
    return tuple(
        (part, chart.decided_at(switch, part, "enabled") if switch else chart.place(part, "enabled"))
        for part, switch in switches.items()
        if value_at(chart.values, part, "enabled") is not False
    )
