"""Volcano in a plan: its chart, its queue, the accounts of its jobs, and what the contract says of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of
from rich.console import Console

from gpu_fabric.attach.attachment import Wishes, attach
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedState
from gpu_fabric.prepare import checked_plan
from gpu_fabric.report.text import plan_report, print_report
from gpu_fabric.spec.load import read_document, validate

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


def manifests(plan: Plan) -> list[dict[str, Any]]:
    return [entry.object.manifest() for entry in plan.applied("volcano-objects")]


def old_line(changes: dict[str, Any]) -> Plan:
    spec, problems = validate(changed(read_document("guide-23-10", folder_of("guide-23-10")), changes))
    assert spec is not None, problems
    return checked_plan(spec)


def attached_job(plan: Plan, **spec: Any) -> tuple[dict[str, Any], list[str]]:
    job = {**VOLCANO_JOB, "spec": {**VOLCANO_JOB["spec"], **spec}}  # type: ignore[dict-item]
    result = attach([job], plan.workload, Wishes())
    return result.documents[0]["spec"], [note.message for note in result.notes if note.rule != "ATT063"]


def test_a_stack_has_no_scheduler_unless_it_asks_for_one(dev_plan: Plan) -> None:
    assert (dev_plan.release("volcano"), dev_plan.applied("volcano-objects")) == (None, ())
    assert dev_plan.workload.scheduler_hints.scheduler is None
    assert dev_plan.workload.scheduler_hints.queue is None


@pytest.mark.parametrize("made", ["26.4", "23.10"])
def test_volcano_comes_by_its_own_chart_in_every_release_line(plan_with: PlanWith, made: str) -> None:
    plan = plan_with({VOLCANO: {}, "software.charts": "upstream"}) if made == "26.4" else old_line({VOLCANO: {}})

    assert plan.release("volcano") is not None
    assert (plan.release_line, plan.release("volcano").namespace) == (made, "volcano-system")
    assert (plan.release("volcano").chart.name, plan.release("volcano").chart.version) == ("volcano", "1.15.1")
    assert plan.release("volcano").chart.repository == "https://volcano-sh.github.io/helm-charts"
    assert plan.release("volcano") in plan.releases


def test_values_of_the_user_go_to_the_chart(plan_with: PlanWith) -> None:
    plan = plan_with({VOLCANO: {"values": {"custom": {"replicas": 2}}}})

    assert plan.release("volcano") is not None
    assert plan.release("volcano").values == {"custom": {"replicas": 2}}


def test_its_namespace_lets_no_privileged_pods_in(plan_with: PlanWith) -> None:
    labels = {entry.name: entry.object.metadata.labels for entry in plan_with({VOLCANO: {}}).applied("namespaces")}

    assert set((labels["volcano-system"] or {}).values()) == {"baseline"}
    assert "privileged" in (labels["gpu-operator"] or {}).values()


def test_every_namespace_of_the_fabric_has_an_account_that_may_look_and_change_nothing(plan_with: PlanWith) -> None:
    offered = [{"name": "research"}, {"name": "training"}]
    found = manifests(plan_with({VOLCANO: {}, "fabric.namespaces": offered}))

    assert [(entry["kind"], entry["metadata"]["name"], entry["metadata"]["namespace"]) for entry in found] == [
        ("ServiceAccount", "mpi-worker-view", "research"),
        ("RoleBinding", "mpi-worker-view", "research"),
        ("ServiceAccount", "mpi-worker-view", "training"),
        ("RoleBinding", "mpi-worker-view", "training"),
    ]
    assert found[3]["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    assert found[3]["subjects"] == [{"kind": "ServiceAccount", "name": "mpi-worker-view", "namespace": "training"}]


def test_a_queue_is_made_where_it_is_not_volcanos_own(plan_with: PlanWith) -> None:
    queues = [
        [entry["metadata"]["name"] for entry in manifests(plan_with({VOLCANO: wish})) if entry["kind"] == "Queue"]
        for wish in ({}, {"queue": "default"}, {"queue": "training"})
    ]

    assert queues == [[], [], ["training"]]


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


def test_a_queue_counts_as_created_when_its_jobs_are_let_in(plan_with: PlanWith) -> None:
    (queue,) = (
        entry
        for entry in plan_with({VOLCANO: {"queue": "training"}}).applied("volcano-objects")
        if entry.object.kind == "Queue"
    )
    assert queue.wait_for == "jsonpath={.status.state}=Open"


def test_the_contract_names_the_scheduler_and_its_queue(plan_with: PlanWith) -> None:
    hints = plan_with({VOLCANO: {"queue": "training"}}).workload.scheduler_hints

    assert (hints.scheduler, hints.queue) == ("volcano", "training")


def test_jobs_are_told_of_a_volcano_that_the_cluster_has(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.installed": ["volcano"]})

    assert (plan.release("volcano"), plan.applied("volcano-objects")) == (None, ())
    assert (plan.workload.scheduler_hints.scheduler, plan.workload.scheduler_hints.queue) == ("volcano", "default")


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
