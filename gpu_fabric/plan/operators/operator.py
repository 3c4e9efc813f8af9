"""The form of an operator: the steps that it yields, and of its chart whether and with which values it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from pydantic.alias_generators import to_snake

from gpu_fabric.catalog import ChartName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.context import Context
from gpu_fabric.plan.operators.releases import release
from gpu_fabric.plan.records import HelmRelease
from gpu_fabric.plan.steps import NODES, Step, Words
from gpu_fabric.plan.values import merged

LABELLED = ("namespaces", NODES, "gpu-operator", "gpu-operator-ready", "gpu-capacity")
"""What comes before whatever selects nodes by the labels of the GPU Operator's Node Feature Discovery."""

ON_NODES = ("host-preparation", "virtual-functions")
"""What the stack sets up on nodes itself, before device plug-ins look at them."""

MANAGER = (
    *("network-operator", "nic-policies", "nic-node-policies", "plugin-configurations"),
    *("spiderpool", "coordinator", "multus", "multus-daemon", *ON_NODES),
)
"""Who brings the definitions of pools and networks, and the devices; a stack has one of them."""


def _no_values(_case: Case) -> dict[str, JsonValue]:
    return {}


@dataclass(frozen=True)
class OwnChart:
    """A chart that a stack may bring; `section` is the part of the stack file's `software` that is about it.

    It is `wanted` where that says so, by default where the section is there. `values` are the plan's own.
    """

    name: ChartName
    section: str
    values: Callable[[Case], dict[str, JsonValue]] = _no_values
    wanted_by: Callable[[Case], bool] | None = None

    def section_of(self, case: Case) -> FrozenModel | None:
        """The section as the stack file has it; None where it has none."""
        found: Any = case.spec.software
        for key in self.section.split("."):
            found = None if found is None else getattr(found, to_snake(key))
        section: FrozenModel | None = found
        return section

    def written(self, case: Case) -> dict[str, JsonValue]:
        """The values that the user wrote."""
        return dict(getattr(self.section_of(case), "values", {}))

    def wanted(self, case: Case) -> bool:
        """Whether the stack needs the chart, whether or not its release line has it."""
        return self.section_of(case) is not None if self.wanted_by is None else self.wanted_by(case)

    def brought(self, case: Case) -> bool:
        """Whether the stack brings it; one that its line lacks is refused, and the rest is looked at all the same."""
        return self.wanted(case) and self.name in case.line.charts

    def release(self, case: Case, *more: Mapping[str, JsonValue]) -> HelmRelease:
        """The release, with more values of the plan's where there are some."""
        return release(case, self.name, merged(self.values(case), *more), self.written(case))


def _no_namespace(_case: Case) -> str | None:
    return None


@dataclass(frozen=True)
class Operator:
    """An operator: its steps, its chart where it has one, and a namespace beside the chart's where it needs one."""

    steps: Callable[[Context], Iterator[Step]]
    chart: OwnChart | None = None
    namespace: Callable[[Case], str | None] = _no_namespace


def chart_step(
    planned: HelmRelease,
    kind: str,
    title: str,
    after: tuple[str, ...] = ("namespaces",),
    note: str = "",
    waits: str = "its pods",
) -> Step:
    """The step of an operator's release, in a component of the same name; `note` is said of it in reports."""
    what = f"chart {planned.chart.name} {planned.chart.version} in {planned.namespace}{note}"
    words = (Words(title=title, what=what, waits=waits),)
    return Step(name=planned.name, component=planned.name, kind=kind, items=(planned,), after=after, words=words)


BESIDE = ", at the same time as all of the above"
"""Said of an operator of which nothing of the fabric has need."""


def chart_operator(chart: OwnChart, kind: str, title: str, note: str = BESIDE) -> Operator:
    """An operator that is its chart and nothing more, and needs its namespace alone."""

    def steps(context: Context) -> Iterator[Step]:
        if chart.brought(context.case):
            yield chart_step(chart.release(context.case), kind, title, note=note)

    return Operator(steps, chart)
