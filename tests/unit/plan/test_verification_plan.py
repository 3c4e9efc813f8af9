"""The measurement's name, which changes with the fabric alone; what is planned is in rows/verification.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.further_fabric import LONGEST_NAME
from gpu_fabric.spec.load import read_document

ON = {"enabled": True, "image": "registry.example/nccl-tests:1"}


def planned(stack: str, changes: dict[str, Any] | None = None, **wishes: Any) -> PlannedVerification:
    document = changed(read_document(stack, folder_of(stack)), {"verification": {**ON, **wishes}, **(changes or {})})
    found = prepare(document, for_up=False).verification
    assert found is not None
    return found


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


def test_a_schedule_leaves_the_run_of_up_as_it_is() -> None:
    assert planned("dev", schedule="17 3 * * *") == planned("dev")


def test_a_schedules_longest_name_is_one_that_a_cron_job_can_have() -> None:
    assert len(f"{'p' * 15}-fabric-idle-{'f' * LONGEST_NAME}") <= 52
