"""Schedulers of jobs: Volcano's chart and what its jobs need beside it, JobSet's, and who starts jobs here."""

from __future__ import annotations

from typing import Literal, NamedTuple

from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import ServiceAccount
from fabric.k8s.rbac import RoleBinding, RoleReference, Subject
from fabric.k8s.volcano import Queue, QueueSpec
from fabric.plan.case import Case
from fabric.plan.operators.releases import release
from fabric.plan.records import HelmRelease, PlannedObject
from fabric.spec.schedulers import DEFAULT_QUEUE, Volcano

Controller = Literal["volcano", "mpi-operator", "job-set"]
"""Who makes the pods of a kind of job."""

JOB_ACCOUNT = "mpi-worker-view"
"""The account by which a job of the OKE guide sees whether its workers are ready."""


class JobQueues(NamedTuple):
    """Who starts the fabric's jobs; None without anybody. `queues` are those of the fabric's jobs, by scheduler."""

    scheduler: str | None
    queues: dict[str, str]


def job_queues(case: Case) -> JobQueues:
    """Where jobs queue: in the stack's own Kueue or Volcano, or in what the cluster has.

    Kueue comes first where there are both: it queues every kind of job but Volcano's own. The queues of a Kueue that
    the cluster has are not known.
    """
    own, installed = case.spec.software.schedulers, case.spec.cluster.installed
    queues = {} if own.kueue is None else {"kueue": own.kueue.queue}
    if own.volcano is not None:
        queues["volcano"] = own.volcano.queue
    elif "volcano" in installed:
        queues["volcano"] = DEFAULT_QUEUE
    brought = [name for name in ("kueue", "volcano") if name in queues or name in installed]
    return JobQueues(next(iter(brought), None), queues)


def job_controllers(case: Case) -> tuple[Controller, ...]:
    """The controllers of jobs that the stack brings or the cluster has."""
    own, installed = case.spec.software.schedulers, case.spec.cluster.installed
    brought: dict[Controller, object | None] = {
        "volcano": own.volcano,
        "mpi-operator": own.mpi_operator,
        "job-set": own.job_set,
    }
    return tuple(name for name, section in brought.items() if section is not None or name in installed)


def jobset(case: Case) -> HelmRelease:
    """JobSet by its own chart."""
    wanted = case.spec.software.schedulers.job_set
    assert wanted is not None, "the chart is among those of the stack"
    return release(case, "jobset", {}, wanted.values)


def volcano(case: Case) -> HelmRelease:
    """Volcano by its own chart."""
    return release(case, "volcano", {}, _wanted(case).values)


def volcano_objects(case: Case) -> tuple[PlannedObject, ...]:
    """The queue where it is not Volcano's own, and in every namespace of the fabric the account of the guide's jobs."""
    accounts = tuple(
        PlannedObject(object=entry) for namespace in case.spec.fabric.namespaces for entry in _account(namespace.name)
    )
    name = _wanted(case).queue
    queue = Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=1))
    return (*(() if name == DEFAULT_QUEUE else (PlannedObject(object=queue),)), *accounts)


def _account(namespace: str) -> tuple[ServiceAccount, RoleBinding]:
    """An account that may look at everything in its namespace but secrets, and change nothing."""
    metadata = ObjectMeta(name=JOB_ACCOUNT, namespace=namespace)
    binding = RoleBinding(
        metadata=metadata,
        role_ref=RoleReference(name="view"),
        subjects=(Subject(name=JOB_ACCOUNT, namespace=namespace),),
    )
    return ServiceAccount(metadata=metadata), binding


def _wanted(case: Case) -> Volcano:
    wanted = case.spec.software.schedulers.volcano
    assert wanted is not None, "the chart is among those of the stack"
    return wanted
