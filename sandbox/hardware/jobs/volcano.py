"""Volcano's controller of jobs, and the part of its scheduler that decides whether a job's pods may be made.

A job's PodGroup is `Pending` until as many of its pods as it needs fit on the nodes, all at the same time; only then
the pods are made, and the real scheduler binds them. Volcano itself also makes pods that do not fit yet where its queue
lets it, and leaves them unbound. Source: the controller of jobs in Volcano's repository.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.jobs.room import Room
from sandbox.hardware.jobs.turns import Turn, is_deleted, phase_of, with_condition
from sandbox.hardware.jobs.volcano_pods import (
    TASK_LABEL,
    VERSION_ANNOTATION,
    extras,
    gang,
    least,
    min_available,
    pod_group,
    pods,
    queue_of,
    tasks_of,
)
from sandbox.kubernetes_api import Object

# What an action of a policy makes of a job, and what becomes of it when its pods are gone.
_ENDINGS = {
    "CompleteJob": ("Completing", "Completed"),
    "AbortJob": ("Aborting", "Aborted"),
    "TerminateJob": ("Terminating", "Terminated"),
    "RestartJob": ("Restarting", "Pending"),
}
_ENDS_IN = dict(_ENDINGS.values())
_FINISHED = ("Completed", "Failed", "Aborted", "Terminated")
_ENDED = ("Succeeded", "Failed")
# Volcano's own default.
_MAX_RETRY = 3


class Belongings(NamedTuple):
    """What a job has: its pods and its PodGroup."""

    pods: Sequence[Object]
    group: Object | None


def play(job: Object, own: Belongings, room: Room, queues: Collection[str], now: str) -> Turn:
    """What Volcano does about a job now; `room` loses what the job takes if it starts."""
    turn = Turn()
    if is_deleted(job):
        return turn
    status = _counted(job, own.pods)
    phase = _next_phase(job, own.pods, status)
    if own.group is None and phase not in _FINISHED:
        turn.creates.append(pod_group(job))
    if "controlledResources" not in (job.get("status") or {}):
        turn.creates.extend(extras(job))
    enqueued = own.group is not None and phase not in _FINISHED and _group(job, own, phase, room, queues, now, turn)
    if phase in _ENDS_IN:
        keeps = _ENDED if phase != "Restarting" else ()
        turn.deletes.extend(pod for pod in own.pods if phase_of(pod) not in keeps and not is_deleted(pod))
    elif enqueued:
        wanted = list(pods(job, status["version"]))
        turn.ensure(wanted, own.pods)
        names = {pod["metadata"]["name"] for pod in wanted}
        turn.deletes.extend(pod for pod in own.pods if pod["metadata"]["name"] not in names and not is_deleted(pod))
    turn.status(job, _with_phase(job, status, phase, now))
    return turn


def _counted(job: Object, own: Sequence[Object]) -> Object:
    """The status of a job but for its phase, from its pods."""
    before = job.get("status") or {}
    phases: Counter[str] = Counter()
    tasks: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in own:
        if is_deleted(pod):
            phases["Terminating"] += 1
            continue
        phases[phase_of(pod)] += 1
        tasks[labels_of(pod)[TASK_LABEL]][phase_of(pod)] += 1
    counts = {name.lower(): phases[name] for name in ("Pending", "Running", "Succeeded", "Failed", "Terminating")}
    plugins = job["spec"].get("plugins") or {}
    return {
        **{name: count for name, count in counts.items() if count},
        **{key: before[key] for key in ("conditions", "retryCount", "state") if key in before},
        "minAvailable": min_available(job),
        "version": before.get("version", 0),
        "controlledResources": {f"plugin-{name}": name for name in plugins},
        "taskStatusCount": {name: {"phase": dict(count)} for name, count in sorted(tasks.items())},
    }


def _next_phase(job: Object, own: Sequence[Object], status: Object) -> str:
    """The phase that follows; counts a restart in `status` where one begins or ends."""
    phase: str = (status.get("state") or {}).get("phase", "Pending")
    if phase in _FINISHED:
        return phase
    if phase in _ENDS_IN:
        if any(is_deleted(pod) or phase_of(pod) not in _ENDED for pod in own) or (phase == "Restarting" and own):
            return phase
        if phase == "Restarting" and status.get("retryCount", 0) >= job["spec"].get("maxRetry", _MAX_RETRY):
            return "Failed"
        return _ENDS_IN[phase]
    if action := _action(job, own, status["version"]):
        if action == "RestartJob":
            status["retryCount"] = status.get("retryCount", 0) + 1
            status["version"] += 1
        return _ENDINGS[action][0]
    return _by_pods(job, status, phase)


def _by_pods(job: Object, status: Object, phase: str) -> str:
    """The phase of a job without a policy for what has happened to its pods."""
    needed = min_available(job)
    succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
    if phase == "Pending":
        return "Running" if needed <= status.get("running", 0) + succeeded + failed else phase
    if "minSuccess" in job["spec"] and succeeded >= job["spec"]["minSuccess"]:
        return "Completed"
    total = sum(int(task.get("replicas", 1)) for _, task in tasks_of(job))
    if not total or succeeded + failed < total:
        return phase
    counts = status["taskStatusCount"]
    short = any(
        counts.get(name, {"phase": {}})["phase"].get("Succeeded", 0) < task["minAvailable"]
        for name, task in tasks_of(job)
        if "minAvailable" in task and needed >= sum(least(each) for _, each in tasks_of(job))
    )
    return "Failed" if short or succeeded < job["spec"].get("minSuccess", needed) else "Completed"


def _action(job: Object, own: Sequence[Object], version: int) -> str | None:
    """The first action that a policy has for something that has happened, the task's own policies first."""
    current = [pod for pod in own if annotations_of(pod).get(VERSION_ANNOTATION) == str(version)]
    for name, task in tasks_of(job):
        its = [pod for pod in current if labels_of(pod)[TASK_LABEL] == name]
        events = {event for pod in its for event in _events(pod)}
        if its and len(its) == int(task.get("replicas", 1)) and all(phase_of(pod) == "Succeeded" for pod in its):
            events.add("TaskCompleted")
        for policy in (*(task.get("policies") or ()), *(job["spec"].get("policies") or ())):
            asked = {policy.get("event"), *(policy.get("events") or ())} - {None}
            if policy.get("action") in _ENDINGS and (asked & events or ("*" in asked and events)):
                return str(policy["action"])
    return None


def _events(pod: Object) -> list[str]:
    if phase_of(pod) != "Failed":
        return []
    return ["PodFailed", "PodEvicted"] if pod["status"].get("reason") == "Evicted" else ["PodFailed"]


def _with_phase(job: Object, status: Object, phase: str, now: str) -> Object:
    before = status.get("state") or {}
    if before.get("phase") == phase:
        return status
    condition = {"status": phase, "lastTransitionTime": now}
    return {
        **status,
        "state": {"phase": phase, "lastTransitionTime": now},
        "conditions": [*status.get("conditions", ()), condition],
    }


def _group(
    job: Object, own: Belongings, job_phase: str, room: Room, queues: Collection[str], now: str, turn: Turn
) -> bool:
    """Write the PodGroup's status; gives whether the job's pods may be there."""
    group = own.group or {}
    before = group.get("status") or {}
    phase, conditions = before.get("phase", "Pending"), list(before.get("conditions") or ())
    counts = Counter(phase_of(pod) for pod in own.pods if not is_deleted(pod))
    if job_phase == "Restarting":
        # replaced pods must fit again
        phase = "Pending"
    elif phase == "Pending":
        problem = _problem(job, room, queues)
        unschedulable = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": problem}
        scheduled = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
        conditions = with_condition(conditions, unschedulable if problem else scheduled, now)
        if not problem:
            conditions = [entry for entry in conditions if entry["type"] != "Unschedulable"]
            phase = "Inqueue"
    elif counts["Succeeded"] + counts["Failed"] and not counts["Running"] + counts["Pending"]:
        phase = "Completed"
    elif counts["Running"] + counts["Succeeded"] >= min_available(job):
        phase = "Running"
    status = {"phase": phase, "conditions": conditions}
    turn.status(group, {**status, **{name.lower(): counts[name] for name in ("Running", *_ENDED) if counts[name]}})
    return bool(phase != "Pending")


def _problem(job: Object, room: Room, queues: Collection[str]) -> str:
    """Why a job cannot start; empty where it can, and then the room is taken."""
    if queue_of(job) not in queues:
        return f"there is no queue {queue_of(job)}"
    wanted = gang(job)
    fits = len(room.copy().take(wanted))
    if fits < len(wanted):
        return f"{fits}/{len(wanted)} tasks in gang fit on the nodes: not enough resources for the others"
    room.take(wanted)
    return ""
