"""Whereabouts, by its own chart: the IPAM's plug-in on every node.

It tolerates every taint that keeps pods from being scheduled. The chart's controller and reconciler tolerate none, and
need a node without.
"""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.operator import OwnChart, chart_operator


def _needed(case: Case) -> bool:
    # In older release lines the Network Operator's own policy installs it.
    by_own_chart = case.choices.ipam == "whereabouts" and case.line.policy_by == "stack"
    return by_own_chart and NETWORK_OPERATOR.needed(case)


def _values(case: Case) -> dict[str, JsonValue]:
    stated = case.cni_folders
    return {} if stated is None else {"cniConf": {"confDir": stated.networks, "binDir": stated.plugins}}


CHART = OwnChart("whereabouts", _values, _needed)
OPERATOR = chart_operator(CHART, note="")
