"""The script that makes virtual functions, whole and as it is; what it is told is in rows/daemons.yaml."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from committed_stacks import folder_of
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare_stack


def manifests(plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [entry.object.manifest() for entry in plan.applied("virtual-functions") if entry.object.kind == kind]


def pods(daemon_set: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return found


def only(plan: Plan) -> dict[str, Any]:
    (found,) = manifests(plan, "DaemonSet")
    return found


def test_another_script_is_another_config_map_so_that_the_pods_start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pods(only(plan_of("guide-23-10")))["volumes"]
    module = import_module("gpu_fabric.plan.host.daemons")
    monkeypatch.setattr(module, "script", lambda _: "true\n")
    after = pods(only(prepare_stack("guide-23-10", folder_of("guide-23-10"))))["volumes"]

    names = [
        next(volume["configMap"]["name"] for volume in volumes if volume["name"] == "script")
        for volumes in (before, after)
    ]
    assert names[0] != names[1]
    assert all(re.fullmatch(r"virtual-functions-[0-9a-f]{8}", name) for name in names)
