"""Schedulers of jobs: Volcano's chart, and what its jobs need beside it."""

from __future__ import annotations

from typing import NamedTuple

from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import ServiceAccount
from fabric.k8s.rbac import RoleBinding, RoleReference, Subject
from fabric.k8s.volcano import Queue, QueueSpec
from fabric.plan.case import Case
from fabric.plan.operators.releases import release
from fabric.plan.records import HelmRelease, PlannedObject
from fabric.spec.schedulers import DEFAULT_QUEUE, Volcano

JOB_ACCOUNT = "mpi-worker-view"
"""The account by which a job of the OKE guide sees whether its workers are ready."""


class JobQueue(NamedTuple):
    """The scheduler of the fabric's jobs, and the queue that they wait in."""

    scheduler: str
    queue: str


def job_queue(case: Case) -> JobQueue | None:
    """Where jobs queue: in the stack's own Volcano, or in the one that the cluster has; None without either."""
    own = case.spec.software.schedulers.volcano
    if own is not None:
        return JobQueue("volcano", own.queue)
    return JobQueue("volcano", DEFAULT_QUEUE) if "volcano" in case.spec.cluster.installed else None


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
