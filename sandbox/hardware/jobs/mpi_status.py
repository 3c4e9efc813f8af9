"""The MPI operator's turn at a job: what it makes, then the status, with how many pods of each role do what."""

from __future__ import annotations

from collections import Counter

from sandbox.hardware.jobs.mpi import Belongings, actions, is_suspended, replicas
from sandbox.hardware.jobs.turns import Turn, condition_of, holds, is_deleted, phase_of, with_condition
from sandbox.kubernetes_api import Object

_COUNTS = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}


def play(job: Object, own: Belongings, now: str) -> Turn:
    """What the operator does about a job now."""
    turn = actions(job, own)
    if not is_deleted(job):
        turn.status(job, status_of(job, own, now))
    return turn


def status_of(job: Object, own: Belongings, now: str) -> Object:
    """A job's status, from its pods and its launcher's Job."""
    before = job.get("status") or {}
    name = f"MPIJob {job['metadata']['namespace']}/{job['metadata']['name']}"
    conditions = list(before.get("conditions") or ())
    status = {key: before[key] for key in ("startTime", "completionTime") if key in before}

    def say(kind: str, value: str, reason: str, message: str) -> None:
        nonlocal conditions
        wanted = {"type": kind, "status": value, "reason": reason, "message": message}
        present = next((entry for entry in conditions if entry["type"] == kind), None)
        if present is None or any(present.get(key) != wanted[key] for key in wanted):
            conditions = with_condition(conditions, {**wanted, "lastUpdateTime": now}, now)

    if not conditions:
        say("Created", "True", "MPIJobCreated", f"{name} is created.")
    suspended, workers = is_suspended(job), _counts(own, "Worker")
    if suspended:
        say("Suspended", "True", "MPIJobSuspended", "MPIJob suspended")
        say("Running", "False", "MPIJobSuspended", f"{name} is suspended.")
    else:
        if holds(job, "Suspended"):
            say("Suspended", "False", "MPIJobResumed", "MPIJob resumed")
            status["startTime"] = now
        status.setdefault("startTime", now)
    launcher = own.launcher
    ended = next((kind for kind in ("Complete", "Failed") if launcher and holds(launcher, kind)), None)
    if launcher and ended:
        status.setdefault("completionTime", (launcher.get("status") or {}).get("completionTime", now))
        # the job's running is over; what it was before is kept if it never ran
        if any(entry["type"] == "Running" for entry in conditions):
            say("Running", "False", "MPIJobRunning", f"{name} is running.")
        if ended == "Complete":
            say("Succeeded", "True", "MPIJobSucceeded", f"{name} successfully completed.")
        else:
            why = condition_of(launcher, "Failed") or {}
            say("Failed", "True", why.get("reason") or "MPIJobFailed", why.get("message") or f"{name} has failed")
    elif not suspended and own.launcher_pods and _all_run(job, own):
        say("Running", "True", "MPIJobRunning", f"{name} is running.")
    replica_statuses = {"Worker": workers}
    if launcher:
        replica_statuses["Launcher"] = {"succeeded": 1} if ended == "Complete" else _counts(own, "Launcher")
    return {**status, "conditions": conditions, "replicaStatuses": replica_statuses}


def _all_run(job: Object, own: Belongings) -> bool:
    workers = [pod for pod in own.workers if phase_of(pod) == "Running"]
    launchers = [pod for pod in own.launcher_pods if phase_of(pod) == "Running"]
    return bool(launchers) and len(workers) == replicas(job, "Worker")


def _counts(own: Belongings, role: str) -> dict[str, int]:
    pods = own.workers if role == "Worker" else own.launcher_pods
    counts = Counter(phase_of(pod) for pod in pods if not is_deleted(pod))
    return {name: counts[phase] for phase, name in _COUNTS.items() if counts[phase]}
