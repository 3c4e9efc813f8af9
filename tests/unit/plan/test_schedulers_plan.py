"""Volcano's jobs and the order before its admission; what a plan has of it is in rows/schedulers.yaml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.attach.attachment import Wishes, attach
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedState

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
