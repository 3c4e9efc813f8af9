"""The measurement's name, which changes with the fabric alone; what is planned is in rows/verification.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.prepare import prepare
from gpu_fabric.report.content import step_rows
from gpu_fabric.spec.further_fabric import LONGEST_NAME
from gpu_fabric.spec.load import read_document

ON = {"enabled": True, "image": "registry.example/nccl-tests:1"}


def planned(stack: str, changes: dict[str, Any] | None = None, **wishes: Any) -> PlannedVerification:
    document = changed(read_document(stack, folder_of(stack)), {"verification": {**ON, **wishes}, **(changes or {})})
    found = prepare(document, for_up=False).verification
    assert found is not None
    return found


def job(run: PlannedVerification) -> dict[str, Any]:
    return run.manifests[-1]


def files(run: PlannedVerification) -> dict[str, str]:
    data: Any = run.manifests[0]["data"]
    found: dict[str, str] = data
    return found


def containers(run: PlannedVerification) -> list[dict[str, Any]]:
    """The containers of every kind of pod of the job."""
    spec: Any = job(run)["spec"]
    templates = {
        "job": lambda: [spec["template"]],
        "volcano": lambda: [task["template"] for task in spec["tasks"]],
        "mpi-operator": lambda: [role["template"] for role in spec["mpiReplicaSpecs"].values()],
    }[run.launcher]()
    return [template["spec"]["containers"][0] for template in templates]


def test_its_pods_carry_the_whole_contract() -> None:
    document = changed(read_document("dev", folder_of("dev")), {"verification": ON})
    plan = prepare(document, for_up=False)
    assert plan.verification is not None
    template: Any = job(plan.verification)["spec"]
    container = containers(plan.verification)[0]
    assert template["template"]["metadata"]["annotations"] == plan.workload.annotations
    assert container["resources"]["limits"] == plan.workload.resources
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]


def test_no_key_is_in_a_plan() -> None:
    run = planned("dev")
    assert [manifest["kind"] for manifest in run.manifests] == ["ConfigMap", "Service", "Job"]
    assert run.keys_secret == f"{run.name}-keys"
    assert "PRIVATE KEY" not in run.model_dump_json()


def test_rails_are_measured_with_the_gpu_that_is_nearest_to_each() -> None:
    assert files(planned("dev"))["rails"].splitlines()[8:10] == ["8 net9 - 4", "9 net10 - 4"]


def test_the_same_stack_gives_the_same_name() -> None:
    assert planned("dev").name == planned("dev").name


@pytest.mark.parametrize(
    "changes",
    [
        {"fabric.mtu": 4000},
        {"fabric.addressing.supernet": "10.200.0.0/16"},
        {"cluster.pools[0].nodes": 4},
        {"software.gpuOperator": {"gdrcopy": True}},
        {"fabric.nccl": {"settings": {"NCCL_IB_TIMEOUT": 21}}},
    ],
    ids=str,
)
def test_a_changed_fabric_has_another_name(changes: dict[str, Any]) -> None:
    assert planned("dev", changes).name != planned("dev").name


@pytest.mark.parametrize("wishes", [{"image": "other:1"}, {"bar": 300.0}, {"nodes": 2}, {"trigger": "again"}], ids=str)
def test_another_measurement_has_another_name(wishes: dict[str, Any]) -> None:
    assert planned("dev", **wishes).name != planned("dev").name


@pytest.mark.parametrize("wishes", [{"wait": False}, {"minutes": 10}], ids=str)
def test_how_up_waits_is_no_reason_to_measure_again(wishes: dict[str, Any]) -> None:
    assert planned("dev", **wishes).name == planned("dev").name


def test_every_pod_of_a_large_job_still_has_a_name() -> None:
    assert len(f"{planned('dev').name}-99999") <= 63


def test_the_script_is_the_one_that_is_tested(root: Path) -> None:
    script = (root / "gpu_fabric" / "workloads" / "verification.sh").read_text(encoding="utf-8")
    assert files(planned("dev"))["verification.sh"] == script


def test_the_report_says_what_is_waited_for() -> None:
    document = changed(read_document("dev", folder_of("dev")), {"verification": ON})
    (step,) = [step for step in step_rows(prepare(document, for_up=False)) if step[0] == "verification"]
    assert step[2] == "each rail 23 GB/s, then all of them 368 GB/s, 60 minutes at most"


def schedule(stack: str = "dev", **wishes: Any) -> dict[str, dict[str, Any]]:
    """The planned objects of a schedule, by kind and name."""
    wishes = {key: value for key, value in {**ON, "schedule": "17 */4 * * *", **wishes}.items() if value is not None}
    plan = prepare(changed(read_document(stack, folder_of(stack)), {"verification": wishes}), for_up=False)
    steps = [step for step in plan.steps if step.name == "schedule"]
    items: list[Any] = [item for step in steps for item in step.items]
    manifests = [item.object.manifest() for item in items]
    return {f"{manifest['kind']} {manifest['metadata']['name']}": manifest for manifest in manifests}


def test_without_a_schedule_nothing_of_it_is_planned() -> None:
    assert schedule(schedule=None) == {}


def test_a_schedule_leaves_the_run_of_up_as_it_is() -> None:
    assert planned("dev", schedule="17 3 * * *") == planned("dev")


def test_a_schedules_longest_name_is_one_that_a_cron_job_can_have() -> None:
    assert len(f"{'p' * 15}-fabric-idle-{'f' * LONGEST_NAME}") <= 52
