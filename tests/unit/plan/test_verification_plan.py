"""The measurement's name, which changes with the fabric alone; what is planned is in rows/verification.yaml."""

from typing import Any

import pytest
from changes import Changes, changed
from committed_stacks import folder_of

from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.further_fabric import LONGEST_NAME
from gpu_fabric.spec.load import read_document

ON = {"enabled": True, "image": "registry.example/nccl-tests:1"}


def planned(changes: Changes | None = None) -> PlannedVerification:
    document = changed(read_document("dev", folder_of("dev")), {"verification": ON, **(changes or {})})
    found = prepare(document, for_up=False).plan.verification
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        ({"fabric.mtu": 4000}, True),
        ({"fabric.addressing.supernet": "10.200.0.0/16"}, True),
        ({"cluster.pools[0].nodes": 4}, True),
        ({"software.gpuOperator": {"gdrcopy": True}}, True),
        ({"fabric.nccl": {"settings": {"NCCL_IB_TIMEOUT": 21}}}, True),
        ({"verification": {**ON, "image": "other:1"}}, True),
        ({"verification": {**ON, "bar": 300.0}}, True),
        ({"verification": {**ON, "nodes": 2}}, True),
        ({"verification": {**ON, "trigger": "again"}}, True),
        ({"verification": {**ON, "pointToPoint": {}}}, True),
        # How `up` waits is no reason to measure again.
        ({"verification": {**ON, "wait": False}}, False),
        ({"verification": {**ON, "minutes": 10}}, False),
    ],
    ids=str,
)
def test_a_changed_fabric_and_another_measurement_have_another_name(changes: dict[str, Any], anew: bool) -> None:
    assert (planned(changes).name != planned().name) == anew


def test_every_pod_of_a_large_job_still_has_a_name() -> None:
    assert len(f"{planned().name}-99999") <= 63


def test_a_schedule_leaves_the_run_of_up_as_it_is() -> None:
    assert planned({"verification": {**ON, "schedule": "17 3 * * *"}}) == planned()


def test_a_schedules_longest_name_is_one_that_a_cron_job_can_have() -> None:
    assert len(f"{'p' * 15}-fabric-idle-{'f' * LONGEST_NAME}") <= 52


def test_rails_are_measured_with_the_gpu_that_is_nearest_to_each() -> None:
    files: Any = planned().manifests[0]["data"]
    assert files["rails"].splitlines()[8:10] == ["8 net9 - 4", "9 net10 - 4"]
