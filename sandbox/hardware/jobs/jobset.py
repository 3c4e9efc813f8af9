"""JobSet: a Job of Kubernetes for each replica, a Service for all pods, and a status. Pure functions.

Kubernetes' own controller makes the pods. Source: the JobSet documentation and its definition of version 0.12.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence

from sandbox.hardware.device_plugins import labels_of
from sandbox.hardware.jobs.turns import Turn, condition_of, holds, is_deleted, owned, with_condition
from sandbox.kubernetes_api import Object

GROUP = "jobset.x-k8s.io/v1alpha2"
_PREFIX = "jobset.sigs.k8s.io"
SET_LABEL = f"{_PREFIX}/jobset-name"
REPLICATED_LABEL = f"{_PREFIX}/replicatedjob-name"
RESTART_LABEL = f"{_PREFIX}/restart-attempt"


def play(jobset: Object, jobs: Sequence[Object], now: str) -> Turn:
    """What JobSet does about a set now; `jobs` are the set's own."""
    turn = Turn()
    if is_deleted(jobset) or (jobset.get("status") or {}).get("terminalState"):
        return turn
    restarts = (jobset.get("status") or {}).get("restarts", 0)
    current = [job for job in jobs if labels_of(job).get(RESTART_LABEL) == str(restarts)]
    turn.deletes.extend(job for job in jobs if job not in current and not is_deleted(job))
    if not jobset.get("status"):
        turn.creates.extend(_service(jobset))
    state, restarts = _state(jobset, current, restarts)
    if state is None and len(current) == len(jobs):
        turn.ensure(_wanted(jobset, current), current)
        suspend = bool(jobset["spec"].get("suspend"))
        templates = {item["name"]: item["template"]["spec"]["template"] for item in jobset["spec"]["replicatedJobs"]}
        for job in current:
            if bool(job["spec"].get("suspend")) != suspend and not _is_over(job):
                spec = templates[labels_of(job)[REPLICATED_LABEL]]["spec"]
                # what was changed in the set while it was suspended counts for its Jobs
                changed = {key: spec[key] for key in ("nodeSelector", "tolerations") if key in spec}
                template = {"template": {"spec": changed}} if changed and not suspend else {}
                turn.patches.append((job, {"spec": {"suspend": suspend, **template}}))
    elif state is not None:
        turn.deletes.extend(job for job in current if not _is_over(job) and not is_deleted(job))
    turn.status(jobset, _status(jobset, current, state, restarts, now))
    return turn


def children(jobset: Object) -> Iterator[Object]:
    """Every Job of a set."""
    name, index_of_all = jobset["metadata"]["name"], 0
    restarts = (jobset.get("status") or {}).get("restarts", 0)
    for replicated in jobset["spec"]["replicatedJobs"]:
        count = int(replicated.get("replicas", 1))
        for index in range(count):
            child = f"{name}-{replicated['name']}-{index}"
            marks = {
                SET_LABEL: name,
                REPLICATED_LABEL: replicated["name"],
                f"{_PREFIX}/replicatedjob-replicas": str(count),
                f"{_PREFIX}/job-index": str(index),
                f"{_PREFIX}/job-global-index": str(index_of_all),
                f"{_PREFIX}/job-key": _key(jobset, child),
                RESTART_LABEL: str(restarts),
            }
            index_of_all += 1
            template = copy.deepcopy(replicated["template"])
            given = template.get("metadata") or {}
            spec = template["spec"]
            spec["suspend"] = bool(jobset["spec"].get("suspend"))
            of_pods = spec["template"].setdefault("metadata", {})
            for metadata in (given, of_pods):
                for key in ("labels", "annotations"):
                    metadata[key] = {**(metadata.get(key) or {}), **marks}
            if (jobset["spec"].get("network") or {}).get("enableDNSHostnames", True):
                spec["template"]["spec"].setdefault("subdomain", _domain(jobset))
            kept = {key: given[key] for key in ("labels", "annotations")}
            yield owned("Job", "batch/v1", jobset, child, metadata=kept, spec=spec)


def _wanted(jobset: Object, current: Sequence[Object]) -> Iterator[Object]:
    """The Jobs that may be there: with the order kept, none before those ahead of it are ready."""
    in_order = (jobset["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    held = set()
    for position, replicated in enumerate(jobset["spec"]["replicatedJobs"]):
        ahead = jobset["spec"]["replicatedJobs"][:position] if in_order else []
        asked = [(item["name"], "Ready") for item in ahead]
        asked += [(item["name"], item["status"]) for item in replicated.get("dependsOn") or ()]
        if not jobset["spec"].get("suspend") and not all(_has_come(jobset, current, *each) for each in asked):
            held.add(replicated["name"])
    return (job for job in children(jobset) if labels_of(job)[REPLICATED_LABEL] not in held)


def _has_come(jobset: Object, jobs: Sequence[Object], name: str, state: str) -> bool:
    count = next(int(item.get("replicas", 1)) for item in jobset["spec"]["replicatedJobs"] if item["name"] == name)
    own = [job for job in jobs if labels_of(job)[REPLICATED_LABEL] == name]
    reached = [job for job in own if holds(job, "Complete") or (state == "Ready" and _is_ready(job))]
    return len(reached) == count


def _state(jobset: Object, jobs: Sequence[Object], restarts: int) -> tuple[str | None, int]:
    """How a set ends, if it does now, and how often it was restarted."""
    if any(holds(job, "Failed") for job in jobs):
        if restarts < (jobset["spec"].get("failurePolicy") or {}).get("maxRestarts", 0):
            return None, restarts + 1
        return "Failed", restarts
    policy = jobset["spec"].get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [item["name"] for item in jobset["spec"]["replicatedJobs"]]
    counted = [job for job in children(jobset) if labels_of(job)[REPLICATED_LABEL] in targets]
    done = [job for job in jobs if labels_of(job)[REPLICATED_LABEL] in targets and holds(job, "Complete")]
    enough = 1 if policy.get("operator") == "Any" else len(counted)
    return ("Completed" if counted and len(done) >= enough else None), restarts


def _status(jobset: Object, jobs: Sequence[Object], state: str | None, restarts: int, now: str) -> Object:
    before = jobset.get("status") or {}
    conditions = list(before.get("conditions") or ())
    suspended = bool(jobset["spec"].get("suspend"))
    if suspended:
        wanted = {"type": "Suspended", "status": "True", "reason": "SuspendedJobs", "message": "jobset is suspended"}
        conditions = with_condition(conditions, wanted, now)
    elif condition_of(jobset, "Suspended"):
        wanted = {"type": "Suspended", "status": "False", "reason": "ResumeJobs", "message": "jobset is resumed"}
        conditions = with_condition(conditions, wanted, now)
    if state is not None:
        reason, message = {
            "Completed": ("AllJobsCompleted", "jobset completed successfully"),
            "Failed": ("FailedJobs", "jobset failed due to one or more job failures"),
        }[state]
        wanted = {"type": state, "status": "True", "reason": reason, "message": message}
        conditions = with_condition(conditions, wanted, now)
    counts = [_counts(item["name"], jobs) for item in jobset["spec"]["replicatedJobs"]]
    status = {"conditions": conditions, "replicatedJobsStatus": counts, "restarts": restarts}
    return {**status, "terminalState": state} if state else status


def _counts(name: str, jobs: Sequence[Object]) -> Object:
    own = [job for job in jobs if labels_of(job)[REPLICATED_LABEL] == name]
    active = [job for job in own if (job.get("status") or {}).get("active")]
    return {
        "name": name,
        "ready": sum(_is_ready(job) for job in own),
        "succeeded": sum(holds(job, "Complete") for job in own),
        "failed": sum(holds(job, "Failed") for job in own),
        "active": len(active),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in own),
    }


def _is_ready(job: Object) -> bool:
    status = job.get("status") or {}
    wanted = min(job["spec"].get("parallelism", 1), job["spec"].get("completions", job["spec"].get("parallelism", 1)))
    return bool(not _is_over(job) and status.get("ready", 0) + status.get("succeeded", 0) >= wanted)


def _is_over(job: Object) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


def _service(jobset: Object) -> list[Object]:
    network = jobset["spec"].get("network") or {}
    if not network.get("enableDNSHostnames", True):
        return []
    early = network.get("publishNotReadyAddresses", True)
    selector = {SET_LABEL: jobset["metadata"]["name"]}
    spec = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": early}
    return [owned("Service", "v1", jobset, _domain(jobset), spec=spec)]


def _domain(jobset: Object) -> str:
    return str((jobset["spec"].get("network") or {}).get("subdomain") or jobset["metadata"]["name"])


def _key(jobset: Object, child: str) -> str:
    return hashlib.sha1(f"{jobset['metadata']['namespace']}/{child}".encode(), usedforsecurity=False).hexdigest()
