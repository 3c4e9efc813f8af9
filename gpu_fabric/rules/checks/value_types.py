"""Checks of the group `releases`: values of charts have the types that the charts' own have."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.registry import Problem, check


@check("REL014")
def values_have_their_types(case: Case) -> Iterator[Problem]:
    """Every value that the stack file gives a chart has the type that the chart's own has."""
    for chart in charts_in_use(case).values():
        types = case.known.chart_types.get(chart.name, {}).get(chart.version)
        for found in types.wrong(chart.written) if types is not None else ():
            yield Problem(
                chart.place(*found.keys),
                f"{chart.name} {chart.version} has {found.wanted} here, and takes any other value in its own way",
                f"write {found.wanted}, or leave it out",
            )
