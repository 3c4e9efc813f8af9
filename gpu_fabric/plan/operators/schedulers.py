"""Who starts the fabric's jobs, and who makes their pods."""

from __future__ import annotations

from typing import NamedTuple, get_args

from gpu_fabric.plan.case import Case
from gpu_fabric.spec.software import DEFAULT_QUEUE, JobController


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


def job_controllers(case: Case) -> tuple[JobController, ...]:
    """The controllers of jobs that the stack installs or the cluster has."""
    own, installed = case.spec.software.schedulers, case.spec.cluster.installed
    return tuple(
        name
        for name in get_args(JobController)
        if name in installed or getattr(own, name.replace("-", "_")) is not None
    )
