"""Volcano's jobs and the order before its admission; what a plan has of it is in rows/schedulers.yaml."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from gpu_fabric.attach.attachment import Wishes, attach
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedState
from gpu_fabric.report.text import plan_report, print_report

PlanWith = Callable[[Any], Plan]
VOLCANO = "software.schedulers.volcano"
VOLCANO_JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "template": {
                    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
                },
            }
        ]
    },
}


def attached_job(plan: Plan, **spec: Any) -> tuple[dict[str, Any], list[str]]:
    job = {**VOLCANO_JOB, "spec": {**VOLCANO_JOB["spec"], **spec}}  # type: ignore[dict-item]
    result = attach([job], plan.workload, Wishes())
    return result.documents[0]["spec"], [note.message for note in result.notes if note.rule != "ATT063"]


@pytest.mark.parametrize("queue", ["default", "training"])
def test_nothing_asks_volcanos_admission_before_its_own_queue_is_open(plan_with: PlanWith, queue: str) -> None:
    run = {"enabled": True, "image": "tests", "launcher": "volcano", "bar": 300}
    plan = plan_with({VOLCANO: {"queue": queue}, "verification": run})
    waited = plan.record(PlannedState, "volcano-open")

    assert waited is not None
    assert (waited.kind, waited.name, waited.field, waited.value) == ("Queue", "default", "status.state", "Open")
    after = {step.name: step.after for step in plan.steps}
    assert after["volcano-open"] == ("volcano",)
    assert "volcano-open" in after["volcano-objects"]
    assert "volcano-objects" in after["verification"]


def test_a_volcano_job_is_attached_to_the_stacks_queue(plan_with: PlanWith) -> None:
    spec, _ = attached_job(plan_with({VOLCANO: {"queue": "training"}}))

    assert spec["queue"] == "training"


def test_a_volcano_job_keeps_the_queue_that_it_has_and_that_is_said(plan_with: PlanWith) -> None:
    spec, notes = attached_job(plan_with({VOLCANO: {"queue": "training"}}), queue="night")

    assert spec["queue"] == "night"
    assert notes == ["keeps 'night'; the fabric's queue is 'training'"]


def test_without_a_scheduler_of_the_stack_a_volcano_job_gets_no_queue(dev_plan: Plan) -> None:
    assert "queue" not in attached_job(dev_plan)[0]


def test_the_report_says_when_volcano_comes_and_what_comes_with_it(plan_with: PlanWith) -> None:
    console = Console(file=io.StringIO(), width=200)
    print_report(plan_report(plan_with({VOLCANO: {"queue": "training"}})), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]

    assert "chart volcano 1.15.1 in volcano-system, at the same time" in text
    assert "1 Queue, 1 ServiceAccount, 1 RoleBinding" in text
