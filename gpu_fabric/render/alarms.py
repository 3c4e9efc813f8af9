"""The files of a stack's alarms: for Prometheus and promtool, for the Prometheus operator, and for Grafana."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_fabric.plan.build import context_of
from gpu_fabric.plan.case import case_of
from gpu_fabric.plan.fabrics import fabric_cases
from gpu_fabric.plan.monitoring.alarms import rule_groups
from gpu_fabric.plan.monitoring.dashboard import dashboard_config_map, dashboard_text
from gpu_fabric.plan.monitoring.objects import prometheus_rule
from gpu_fabric.plan.monitoring.planted import rule_tests
from gpu_fabric.plan.monitoring.watched import Watched
from gpu_fabric.render.layout import yaml_text
from gpu_fabric.spec.stack import StackSpec

RULES, TESTS, OBJECTS, DASHBOARD = "rules.yaml", "tests.yaml", "objects.yaml", "dashboard.json"


def watched_fabrics(spec: StackSpec) -> tuple[Watched, ...]:
    """The fabrics of a stack as alarms see them; the rules about the spec hold already."""
    cases = fabric_cases(spec) if spec.fabrics else (case_of(spec),)
    return tuple(Watched.of(context_of(case)) for case in cases)


def alarm_files(fabrics: Sequence[Watched]) -> dict[str, str]:
    """Every file by its path; of several fabrics each has a folder."""
    return {
        f"{watched.fabric}/{name}" if len(fabrics) > 1 else name: text
        for watched in fabrics
        for name, text in _files(watched).items()
    }


def _files(watched: Watched) -> dict[str, str]:
    objects = (prometheus_rule(watched).manifest(), dashboard_config_map(watched).manifest())
    return {
        RULES: yaml_text(rule_file(watched)),
        TESTS: yaml_text(rule_tests(watched, RULES)),
        OBJECTS: "---\n".join(map(yaml_text, objects)),
        DASHBOARD: dashboard_text(watched),
    }


def rule_file(watched: Watched) -> dict[str, Any]:
    """The content of a rule file of Prometheus."""
    return {"groups": [group.to_dict() for group in rule_groups(watched)]}
