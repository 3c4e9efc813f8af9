"""Kueue: a Workload for each job that names a queue, admitted when its queue has everything it asks for.

Pure functions. Source: Kueue's documentation, its definitions of version 0.19, and its own names and messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpu_fabric.k8s.names import QUEUE_LABEL
from sandbox.hardware.device_plugins import labels_of
from sandbox.hardware.jobs.kueue_jobs import (
    PodSet,
    is_suspended,
    outcome,
    started,
    suspended,
    workload_of,
)
from sandbox.hardware.jobs.kueue_quota import Assignment, DoesNotFitError, Quota, domain_of
from sandbox.hardware.jobs.room import Room, all_hold
from sandbox.hardware.jobs.turns import Turn, condition_of, holds, is_deleted, owner_of, with_condition
from sandbox.kubernetes_api import Object

_STOPPED = ("Hold", "HoldAndDrain")


class Queues(NamedTuple):
    """What decides over admission, each by its name; local queues by namespace and name."""

    local: Mapping[str, Object]
    cluster: Mapping[str, Object]
    flavors: Mapping[str, Object]
    topologies: Mapping[str, Object]
    namespaces: Mapping[str, Object]


class Admissions(NamedTuple):
    """Jobs that name a queue, and all Workloads."""

    jobs: Sequence[Object]
    workloads: Sequence[Object]


def play(asked: Admissions, queues: Queues, room: Room, now: str) -> Turn:
    """What Kueue does now about every job and every queue."""
    turn = Turn()
    workloads = [_evicted(item, queues, now, turn) for item in asked.workloads]
    by_job = {owner_of(item): item for item in workloads}
    for job in asked.jobs:
        if not is_deleted(job):
            _job(job, by_job.get(job["metadata"]["uid"]), queues, now, turn)
    changed = _admit(workloads, queues, room, now, turn)
    _count(changed, queues, now, turn)
    return turn


def _job(job: Object, workload: Object | None, queues: Queues, now: str, turn: Turn) -> None:
    """Keep a job and its Workload alike."""
    over = outcome(job)
    if workload is None:
        if over is None and is_suspended(job):
            turn.creates.append(workload_of(job, labels_of(job)[QUEUE_LABEL]))
        elif over is None and job["kind"] != "Pod":
            turn.patches.append((job, {"spec": suspended(job)["spec"]}))
    elif over is not None:
        if not holds(workload, "Finished"):
            reason = "Succeeded" if over[0] else "Failed"
            _say(workload, "Finished", "True", reason, over[1], now, turn)
    elif holds(workload, "Admitted") and is_suspended(job):
        turn.patches.append((job, started(job, _placement(workload, queues))))
    elif holds(workload, "Evicted") and not is_suspended(job) and job["kind"] != "Pod":
        turn.patches.append((job, {"spec": suspended(job)["spec"]}))


def _evicted(workload: Object, queues: Queues, now: str, turn: Turn) -> Object:
    """A Workload as it is after it lost its quota to a queue that is drained; the same where nothing drains it."""
    if not holds(workload, "QuotaReserved") or holds(workload, "Finished"):
        return workload
    local = queues.local.get(_local(workload))
    queue = queues.cluster.get(workload["status"]["admission"]["clusterQueue"])
    kind = next((of for of, item in (("LocalQueue", local), ("ClusterQueue", queue)) if _drains(item)), None)
    if kind is None:
        return workload
    conditions = list(workload["status"]["conditions"])
    for name, holding in (("QuotaReserved", "False"), ("Admitted", "False"), ("Evicted", "True")):
        said = {"type": name, "status": holding, "reason": f"{kind}Stopped", "message": f"The {kind} is stopped"}
        conditions = with_condition(conditions, said, now)
    kept = {key: value for key, value in workload["status"].items() if key != "admission"}
    status: Object = {**kept, "conditions": conditions}
    turn.status(workload, status)
    return {**workload, "status": status}


def _drains(queue: Object | None) -> bool:
    return queue is not None and queue["spec"].get("stopPolicy") == "HoldAndDrain"


def _placement(workload: Object, queues: Queues) -> dict[str, tuple[dict[str, str], list[Object]]]:
    """What the pods of each set get of the flavors that they were admitted to."""
    found = {}
    for entry in workload["status"]["admission"]["podSetAssignments"]:
        specs = [queues.flavors[name]["spec"] for name in dict.fromkeys(entry["flavors"].values())]
        labels = {key: value for spec in specs for key, value in (spec.get("nodeLabels") or {}).items()}
        tolerations = [toleration for spec in specs for toleration in spec.get("tolerations") or ()]
        found[entry["name"]] = {**labels, **domain_of(entry)}, tolerations
    return found


def _admit(workloads: Sequence[Object], queues: Queues, room: Room, now: str, turn: Turn) -> list[Object]:
    """Admit what fits, the oldest first; gives all Workloads as they are then."""
    result = [item for item in workloads if holds(item, "QuotaReserved") or holds(item, "Finished")]
    waiting = [item for item in workloads if item not in result and not is_deleted(item)]
    quotas = {
        name: Quota(queue, queues.flavors, queues.topologies, _reserving(workloads, name))
        for name, queue in queues.cluster.items()
    }
    order = sorted(waiting, key=lambda item: (-item["spec"].get("priority", 0), item["metadata"]["creationTimestamp"]))
    for workload in order:
        result.append(workload)
        if problem := _obstacle(workload, queues):
            _say(workload, "QuotaReserved", "False", "Inadmissible", problem, now, turn)
            continue
        name = queues.local[_local(workload)]["spec"]["clusterQueue"]
        sets = [PodSet(entry["name"], entry["count"], entry["template"]) for entry in workload["spec"]["podSets"]]
        try:
            found = quotas[name].assign(sets, room)
        except DoesNotFitError as problem:
            _say(workload, "QuotaReserved", "False", "Pending", str(problem), now, turn)
            continue
        status = _admitted(workload, name, found, now)
        turn.status(workload, status)
        result[-1] = {**workload, "status": status}
    return result


def _admitted(workload: Object, queue: str, found: Iterable[Assignment], now: str) -> Object:
    before = workload.get("status") or {}
    conditions = list(before.get("conditions") or ())
    for kind, status, reason, message in (
        ("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}"),
        ("Admitted", "True", "Admitted", "The workload is admitted"),
        ("Evicted", "False", "QuotaReserved", "Previously: the queue was stopped"),
    ):
        said = {"type": kind, "status": status, "reason": reason, "message": message}
        if kind != "Evicted" or condition_of(workload, kind):
            conditions = with_condition(conditions, said, now)
    admission = {"clusterQueue": queue, "podSetAssignments": [entry.to_dict() for entry in found]}
    return {**before, "conditions": conditions, "admission": admission}


def _obstacle(workload: Object, queues: Queues) -> str:
    """Why a Workload's queue cannot admit anything; empty where it can."""
    local, name = queues.local.get(_local(workload)), workload["spec"]["queueName"]
    if local is None:
        return f"LocalQueue {name} doesn't exist"
    if local["spec"].get("stopPolicy") in _STOPPED:
        return f"LocalQueue {name} is stopped"
    wanted = local["spec"]["clusterQueue"]
    queue = queues.cluster.get(wanted)
    if queue is None:
        return f"ClusterQueue {wanted} doesn't exist"
    if _inactive(queue, queues):
        return f"ClusterQueue {wanted} is inactive"
    namespace = queues.namespaces.get(workload["metadata"]["namespace"], {"metadata": {}})
    if not _selects(queue["spec"].get("namespaceSelector"), namespace):
        return "Workload namespace doesn't match ClusterQueue selector"
    return ""


def _selects(selector: Mapping[str, object] | None, namespace: Object) -> bool:
    if selector is None:
        return False
    labels, wanted = labels_of(namespace), selector.get("matchLabels") or {}
    equal = isinstance(wanted, Mapping) and all(labels.get(key) == value for key, value in wanted.items())
    expressions = selector.get("matchExpressions") or []
    return equal and isinstance(expressions, list) and all_hold(expressions, labels)


def _inactive(queue: Object, queues: Queues) -> tuple[str, str] | None:
    """The reason and message, in Kueue's words, why a queue admits nothing; None where it admits."""
    groups = queue["spec"].get("resourceGroups") or ()
    names = [flavor["name"] for group in groups for flavor in group["flavors"]]
    if queue["spec"].get("stopPolicy") in _STOPPED:
        return "Stopped", "Can't admit new workloads: is stopped."
    if missing := [name for name in names if name not in queues.flavors]:
        text = f"Can't admit new workloads: references missing ResourceFlavor(s): {', '.join(missing)}."
        return "FlavorNotFound", text
    topologies = {queues.flavors[name]["spec"].get("topologyName") for name in names} - {None}
    if missing := sorted(topologies - queues.topologies.keys()):
        return "TopologyNotFound", f"Can't admit new workloads: there is no Topology {', '.join(missing)}."
    return None


def _count(workloads: Sequence[Object], queues: Queues, now: str, turn: Turn) -> None:
    """Write what each queue has to do."""
    for name, queue in queues.cluster.items():
        leading = {key for key, local in queues.local.items() if local["spec"]["clusterQueue"] == name}
        own = [item for item in workloads if _local(item) in leading]
        reason, message = _inactive(queue, queues) or ("Ready", "Can admit new workloads")
        turn.status(queue, _queue_status(queue, own, reason, message, now))
    for key, local in queues.local.items():
        own = [item for item in workloads if _local(item) == key]
        reason, message = "Ready", "Can submit new workloads to localQueue"
        leads_to = queues.cluster.get(local["spec"]["clusterQueue"])
        if leads_to is None:
            reason, message = "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"
        elif _inactive(leads_to, queues):
            reason, message = "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
        turn.status(local, _queue_status(local, own, reason, message, now))


def _queue_status(queue: Object, own: Sequence[Object], reason: str, message: str, now: str) -> Object:
    before = queue.get("status") or {}
    active = {"type": "Active", "status": str(reason == "Ready"), "reason": reason, "message": message}
    alive = [item for item in own if not holds(item, "Finished")]
    return {
        **before,
        "conditions": with_condition(before.get("conditions") or (), active, now),
        "pendingWorkloads": sum(not holds(item, "QuotaReserved") for item in alive),
        "reservingWorkloads": sum(holds(item, "QuotaReserved") for item in alive),
        "admittedWorkloads": sum(holds(item, "Admitted") for item in alive),
    }


def _reserving(workloads: Iterable[Object], queue: str) -> list[Object]:
    held = (item for item in workloads if holds(item, "QuotaReserved"))
    return [item for item in held if item["status"]["admission"]["clusterQueue"] == queue]


def _local(workload: Object) -> str:
    return f"{workload['metadata']['namespace']}/{workload['spec']['queueName']}"


def _say(item: Object, kind: str, status: str, reason: str, message: str, now: str, turn: Turn) -> None:
    """Write a condition unless it is there."""
    wanted = {"type": kind, "status": status, "reason": reason, "message": message}
    present = condition_of(item, kind) or {}
    if any(present.get(key) != value for key, value in wanted.items()):
        before = item.get("status") or {}
        conditions = with_condition(before.get("conditions") or (), wanted, now)
        turn.status(item, {**before, "conditions": conditions})
