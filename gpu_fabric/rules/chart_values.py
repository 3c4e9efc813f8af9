"""The charts of a stack with the values they will get, as rules look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from pydantic import JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog import ChartName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.spec.places import dotted


class ChartValues(NamedTuple):
    """A chart that the stack installs: its section of `software`, its version, its values, and those the user wrote."""

    name: ChartName
    section: str
    version: str
    values: Mapping[str, JsonValue]
    written: Mapping[str, JsonValue]

    def value(self, *keys: str) -> JsonValue:
        """The value below these keys; None where there is none."""
        return field(self.values, *keys)  # type: ignore[no-any-return]

    def written_value(self, *keys: str) -> JsonValue:
        """The value that the user wrote below these keys; None where there is none."""
        return field(self.written, *keys)  # type: ignore[no-any-return]

    def place(self, *keys: str) -> str:
        """The path of a value in the stack file."""
        return dotted(("software", self.section, "values", *keys))

    def decided_at(self, switch: str, *keys: str) -> str:
        """The place that decides a value: the value itself where the user wrote it, else the section's switch."""
        if self.written_value(*keys) is not None:
            return self.place(*keys)
        return dotted(("software", self.section, switch))


Charts = Mapping[ChartName, ChartValues]
"""Charts by name."""


def written_switches(case: Case, path: str) -> tuple[str, ...]:
    """The keys that the stack file has in a section of `software`, without empty mappings."""
    section = case.spec.software.section(path)
    if section is None:
        return ()
    fields = type(section).model_fields
    return tuple(
        known.alias or field
        for field, known in fields.items()
        if field in section.model_fields_set and getattr(section, field) != {}
    )


@lru_cache(maxsize=8)
def charts_in_use(case: Case) -> Charts:
    """The charts that the stack installs, by name.

    They lack the device plug-ins' configurations, which come from the plan. Some fifty checks of a stack ask for them.
    """
    installed = ((chart, chart.release(case)) for chart in own_charts() if chart.is_installed(case))
    return {
        chart.name: ChartValues(
            chart.name, chart.section, release.chart.version, release.values, chart.written(case.spec)
        )
        for chart, release in installed
    }


def chart_in_use(name: ChartName) -> Callable[[Case], ChartValues | None]:
    """The look-up of one chart in a stack, for checks of this chart."""
    return lambda case: charts_in_use(case).get(name)


def replace_sections(case: Case, **sections: FrozenModel) -> Case:
    """The stack as if these sections of `software` were others."""
    software = case.spec.software.model_copy(update=sections)
    return replace(case, spec=case.spec.model_copy(update={"software": software}))


def has_driver(chart: ChartValues) -> bool:
    """Whether the GPU Operator installs the GPU driver."""
    return chart.value("driver", "enabled") is not False


def gpu_operator_parts(chart: ChartValues) -> tuple[tuple[str, str], ...]:
    """The parts of DigitalOcean's nodes that the GPU Operator also installs, each with the place that decides it."""
    switches = {"driver": "driver", "toolkit": "toolkit", "devicePlugin": None}
    return tuple(
        (part, chart.decided_at(switch, part, "enabled") if switch else chart.place(part, "enabled"))
        for part, switch in switches.items()
        if chart.value(part, "enabled") is not False
    )
