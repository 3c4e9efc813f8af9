"""The vendor's network drivers in a container, by a chart of Spiderpool's project.

Its pods load the drivers on the nodes. What needs those, device plug-ins and virtual functions, comes after.
"""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, OwnChart, chart_operator


def _needed(case: Case) -> bool:
    return manager_of(case).takes_ofed_driver_chart and case.spec.software.ofed_driver is not None


def _values(case: Case) -> dict[str, JsonValue]:
    """The nodes' operating system, which the chart does not find out."""
    wanted = case.spec.software.ofed_driver
    return {} if wanted is None else {"image": {"OSName": wanted.os, "OSVer": wanted.os_version, "Arch": wanted.arch}}


CHART = OwnChart("ofed-driver", _values, _needed)


OPERATOR = chart_operator(CHART, note="", after=LABELLED)
