"""Operators that leave a stack: the edit is stopped, and once they are kept, they and what depends on them stay."""

from __future__ import annotations

from typing import Any

import pytest
from doctoring import exists
from driver import POLICY, Sandbox, until
from test_models import assert_a_job_runs

NAMESPACE = "/api/v1/namespaces/nvidia-network-operator"
POOLS = "/apis/nv-ipam.nvidia.com/v1alpha1/namespaces/nvidia-network-operator/ippools"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/mpijobs.kubeflow.org"
JOBS = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs"
MPI = {"schedulers": {"mpiOperator": {}}}
LEFT = {"networkOperator": {"install": False, "policy": "adopt"}}


def mpi_job() -> dict[str, Any]:
    """A job of somebody who knows nothing of the stack; it is suspended, and so stays as it is."""
    template = {"spec": {"containers": [{"name": "main", "image": "training"}]}}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "theirs", "namespace": "default"},
        "spec": {
            "runPolicy": {"suspend": True},
            "mpiReplicaSpecs": {name: {"replicas": 1, "template": template} for name in ("Launcher", "Worker")},
        },
    }


@pytest.fixture(scope="module")
def up(cluster: Sandbox) -> Sandbox:
    """The stack `dev` with the MPI operator, on which somebody has a job; the tests go on from one another."""
    cluster.run("up", *cluster.options)
    cluster.up_with(software=MPI)
    cluster.api.post(JOBS, mpi_job())
    return cluster


def there(sandbox: Sandbox) -> tuple[Any, ...]:
    """What depends on the operators, by its identity: what was deleted and created again has another one."""
    single = [sandbox.api.get(path)["metadata"]["uid"] for path in (NAMESPACE, POLICY, DEFINITION)]
    lists = [sorted(item["metadata"]["uid"] for item in sandbox.items(path)) for path in (POOLS, JOBS)]
    return (*single, *lists)


def test_operators_that_leave_at_once_are_stopped_with_what_goes_with_them(up: Sandbox) -> None:
    before = there(up)
    said = up.up_with(fails=True, software={**MPI, **LEFT})
    assert "namespaces-nvidia-network-operator: would be deleted" in said
    assert "everything in it, also what the plan keeps there" in said
    assert "nic-policies-nic-cluster-policy: would be deleted" in said

    said = up.up_with(fails=True, software={"schedulers": {}})
    assert "lost: every object of its kind in the cluster" in said
    assert "`software.keepOperators`: true" in said
    assert there(up) == before


def test_operators_that_are_kept_leave_the_stack_and_stay_on_the_cluster(up: Sandbox) -> None:
    before = there(up)
    up.up_with(software={**MPI, "keepOperators": True})
    up.up_with(software={"schedulers": {}, **LEFT})

    names = {entry["urn"].rpartition("::")[2] for entry in up.state().resources}
    assert not names & {"network-operator-network-operator", "namespaces-nvidia-network-operator"}
    assert not {name for name in names if name.startswith("mpi-operator")}
    assert there(up) == before
    assert_a_job_runs(up, "nvidia.com/rail_00", 1)


def test_what_was_kept_is_left_by_destroy(up: Sandbox) -> None:
    kept = there(up)
    up.run("pulumi", "destroy", *up.options)
    assert [up.api.get(path)["metadata"]["uid"] for path in (NAMESPACE, POLICY, DEFINITION)] == list(kept[:3])
    until(lambda: not exists(up, f"{POOLS}/rail-00"), "the stack's pools are gone")
