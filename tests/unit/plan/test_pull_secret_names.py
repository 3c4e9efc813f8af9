"""Secrets for pulling images, from the stack file to every pod of the plan."""

from collections.abc import Iterator
from typing import Any

import pytest
from changes import Changes
from committed_stacks import stack_names
from planned_fabrics import plan_of
from program_lists import EVERY_SCHEDULER

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedPullSecret
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, nccl_test

MIRROR = {"software.imagePullSecrets": [{"name": "mirror", "secret": "mirror-login"}, {"name": "vendor"}]}
NAMED = [{"name": "mirror"}, {"name": "vendor"}]
BUSY: dict[str, Any] = {
    "fabric.check": {},
    "fabric.vfsPerNic": 2,
    "fabric.hostPreparation": {"lossless": {}},
    "software.schedulers": EVERY_SCHEDULER,
    "verification": {"enabled": True, "image": "nvcr.io/own/nccl-tests:1"},
}


def pods(value: Any) -> Iterator[dict[str, Any]]:
    """The specs of all pods in manifests."""
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        for inner in value.values():
            yield from pods(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from pods(inner)


def pods_of(plan: Plan) -> list[dict[str, Any]]:
    """The pods of the stack, of its measurement and of a test job."""
    run = plan.verification
    manifests = [entry.object.manifest() for entry in plan.objects]
    jobs = [nccl_test(plan.workload, NcclTest(launcher, "nccl-tests:1")).documents[0] for launcher in JobScheduler]
    return [*pods([*manifests, *jobs, *(run.manifests if run else ())])]


@pytest.mark.parametrize(
    ("stack", "changes"),
    [("sriov-per-node", BUSY), ("spiderpool-macvlan", {"fabric.check": {}}), ("doks-h200", {}), ("oke-h200", {})],
)
def test_every_pod_of_the_stacks_own_names_the_secrets(stack: str, changes: Changes) -> None:
    plan = plan_of(stack, {**MIRROR, **changes})

    assert pods_of(plan)
    assert [pod for pod in pods_of(plan) if pod.get("imagePullSecrets") != NAMED] == []


def test_a_secret_is_created_in_every_namespace_with_pods_of_the_stack_and_an_existing_one_is_not() -> None:
    changes: Changes = {**MIRROR, "fabric.namespaces": ["default", {"name": "team", "create": True}]}
    created = plan_of("host-device", changes).records(PlannedPullSecret)

    assert {(entry.name, entry.key) for entry in created} == {("mirror", "mirror-login")}
    assert [entry.namespace for entry in created] == ["gpu-operator", "nvidia-network-operator", "default", "team"]


@pytest.mark.parametrize("name", stack_names())
def test_no_pod_runs_where_the_secret_is_not_created(name: str) -> None:
    plan = plan_of(name, MIRROR)
    created = {entry.namespace for entry in plan.records(PlannedPullSecret)}
    with_pods = {entry.object.metadata.namespace for entry in plan.objects if [*pods(entry.object.manifest())]} | {
        release.namespace for release in plan.releases
    }

    assert with_pods <= created
