"""Tests of promtool for a fabric's rules: each alarm fires on its planted series, and none on healthy ones."""

from __future__ import annotations

from typing import Any

from gpu_fabric.catalog.alarm import Alarm
from gpu_fabric.plan.monitoring.alarms import alarms_of, values_of
from gpu_fabric.plan.monitoring.watched import Watched, filled

# Prometheus' own series of alarms has a sample at each evaluation.
_FIRING = 'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)'
_ANY = 'count(ALERTS{alertstate="firing"}) or vector(0)'
_MOST_SERIES = 2000
"""Limit of the series that one test plants."""


def rule_tests(watched: Watched, rule_file: str) -> dict[str, Any]:
    """The content of a file for `promtool test rules`, in addition to the file with the rules."""
    tests = [test for name, alarm in alarms_of(watched).items() for test in _tests(watched, name, alarm)]
    return {"rule_files": [rule_file], "evaluation_interval": "1m", "tests": tests}


def _tests(watched: Watched, name: str, alarm: Alarm) -> list[dict[str, Any]]:
    values = next(values_of(watched, alarm))
    planted = _planted(watched, alarm, values)
    if len(planted) > _MOST_SERIES:
        return []
    firing = _FIRING.format(name=name)
    return [
        {
            "name": f"{name} fires",
            "interval": "1m",
            "input_series": [*planted, *_own_nodes(watched, alarm, values)],
            "promql_expr_test": [
                _expected(firing, alarm.planted.quiet, 0),
                _expected(firing, alarm.planted.at, 1),
            ],
        },
        {
            "name": f"{name} stays silent",
            "interval": "1m",
            "input_series": [
                *(_series(line, values) for line in alarm.healthy),
                *_own_nodes(watched, alarm, values),
            ],
            "promql_expr_test": [_expected(_ANY, time, 0) for time in (alarm.planted.quiet, alarm.planted.at)],
        },
    ]


def _planted(watched: Watched, alarm: Alarm, values: dict[str, str]) -> list[dict[str, str]]:
    lines = alarm.planted.series
    if lines == "<nodes over room>":
        line = 'kube_node_status_allocatable{{node="gpu-{number}",resource="<resource>",unit="integer"}} <each>x60'
        lines = tuple(line.format(number=number) for number in range(min(watched.room, _MOST_SERIES) + 1))
    return [_series(line, values) for line in lines]


def _own_nodes(watched: Watched, alarm: Alarm, values: dict[str, str]) -> list[dict[str, str]]:
    """The devices of the nodes, by which a fabric's own nodes are known where node_exporter's series name the node."""
    if watched.case.spec.monitoring.node_label != "node" or "<rail>" not in alarm.expr or not values["resource"]:
        return []
    line = 'kube_node_status_allocatable{{node="{node}",resource="{resource}",unit="integer"}} {count}x300'
    offered = (("<resource>", "<each>"), ("<gpu resource>", "<gpus>"))
    return [
        _series(line.format(node=node, resource=resource, count=count), values)
        for node in ("gpu-7", "gpu-8")
        for resource, count in offered
    ]


def _series(line: str, values: dict[str, str]) -> dict[str, str]:
    series, _, samples = filled(line, values).rpartition("} ")
    return {"series": f"{series}}}", "values": samples}


def _expected(expression: str, time: str, value: int) -> dict[str, Any]:
    return {"expr": expression, "eval_time": time, "exp_samples": [{"labels": "{}", "value": value}]}
