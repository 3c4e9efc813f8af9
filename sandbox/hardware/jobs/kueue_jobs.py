"""Kueue's view of each kind of job: whether it is suspended, its future pods, and how it is started."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_fabric.k8s.kueue import API_VERSION
from sandbox.hardware.device_plugins import labels_of
from sandbox.hardware.jobs import mpi
from sandbox.hardware.jobs.turns import holds, owned, phase_of
from sandbox.kubernetes_api import Object

GROUP = API_VERSION
POD_GATE = "kueue.x-k8s.io/admission"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
_UID_LABEL = "kueue.x-k8s.io/job-uid"
# Conditions in which a job of a kind is over, each with whether that is a success.
_ENDS = {
    "MPIJob": (("Succeeded", True), ("Failed", False)),
    "JobSet": (("Completed", True), ("Failed", False)),
    "Job": (("Complete", True), ("Failed", False)),
}
_LONGEST_NAME, _HASH = 253, 5


@dataclass(frozen=True)
class PodSet:
    """Pods of a job that are alike: their template, and how many there are."""

    name: str
    count: int
    template: Mapping[str, Any]


def is_suspended(job: Object) -> bool:
    """Whether a job waits."""
    if job["kind"] == "MPIJob":
        return mpi.is_suspended(job)
    if job["kind"] == "Pod":
        return any(gate["name"] == POD_GATE for gate in job["spec"].get("schedulingGates") or ())
    return bool(job["spec"].get("suspend"))


def suspended(job: Object) -> Object:
    """A job that is made to wait, as Kueue's webhook does when it is created."""
    changed = copy.deepcopy(job)
    if job["kind"] == "MPIJob":
        changed["spec"].setdefault("runPolicy", {})["suspend"] = True
    elif job["kind"] == "Pod":
        gates = [gate for gate in job["spec"].get("schedulingGates") or () if gate["name"] != POD_GATE]
        changed["spec"]["schedulingGates"] = [*gates, {"name": POD_GATE}]
        changed["metadata"]["labels"] = {**labels_of(job), MANAGED_LABEL: "true"}
    else:
        changed["spec"]["suspend"] = True
    return changed


def outcome(job: Object) -> tuple[bool, str] | None:
    """Whether a job that is over has succeeded, and how; None while it is not over."""
    if job["kind"] == "Pod":
        phase = phase_of(job)
        return (phase == "Succeeded", f"the pod is {phase}") if phase in ("Succeeded", "Failed") else None
    over = ((good, f"the job is {kind}") for kind, good in _ENDS[job["kind"]] if holds(job, kind))
    return next(over, None)


def pod_sets(job: Object) -> list[PodSet]:
    """The pods of a job."""
    spec = job["spec"]
    if job["kind"] == "MPIJob":
        roles = [role for role in ("Launcher", "Worker") if role in spec["mpiReplicaSpecs"]]
        return [
            PodSet(role.lower(), mpi.replicas(job, role), spec["mpiReplicaSpecs"][role]["template"]) for role in roles
        ]
    if job["kind"] == "JobSet":
        return [
            PodSet(item["name"], int(item.get("replicas", 1)) * _parallel(inner), inner["template"])
            for item in spec["replicatedJobs"]
            for inner in [item["template"]["spec"]]
        ]
    if job["kind"] == "Pod":
        kept = {key: job["metadata"][key] for key in ("labels", "annotations") if key in job["metadata"]}
        return [PodSet("main", 1, {"metadata": kept, "spec": spec})]
    return [PodSet("main", _parallel(spec), spec["template"])]


def started(job: Object, placement: Mapping[str, tuple[Mapping[str, str], Sequence[Object]]]) -> Object:
    """The patch that lets a job go; `placement` is what pods of each set get: a node selector, and tolerations."""
    if job["kind"] == "MPIJob":
        roles = {
            role: {"template": {"spec": _placed(item["template"]["spec"], placement.get(role.lower()))}}
            for role, item in job["spec"]["mpiReplicaSpecs"].items()
        }
        return {"spec": {"runPolicy": {"suspend": False}, "mpiReplicaSpecs": roles}}
    if job["kind"] == "JobSet":
        replicated = copy.deepcopy(job["spec"]["replicatedJobs"])
        for item in replicated:
            spec = item["template"]["spec"]["template"]["spec"]
            spec.update(_placed(spec, placement.get(item["name"])))
        return {"spec": {"suspend": False, "replicatedJobs": replicated}}
    if job["kind"] == "Pod":
        gates = [gate for gate in job["spec"]["schedulingGates"] if gate["name"] != POD_GATE]
        return {"spec": {"schedulingGates": gates, **_placed(job["spec"], placement.get("main"))}}
    template = {"spec": _placed(job["spec"]["template"]["spec"], placement.get("main"))}
    return {"spec": {"suspend": False, "template": template}}


def workload_of(job: Object, queue: str) -> Object:
    """The Workload of a job in a queue."""
    sets = [{"name": entry.name, "count": entry.count, "template": _cleaned(entry.template)} for entry in pod_sets(job)]
    spec = {"queueName": queue, "active": True, "priority": 0, "podSets": sets}
    labels = {_UID_LABEL: job["metadata"]["uid"]}
    return owned("Workload", GROUP, job, workload_name(job), metadata={"labels": labels}, spec=spec)


def workload_name(job: Object) -> str:
    """The name of a job's Workload: kind, name and the beginning of a hash, as in Kueue's `workload_names.go`."""
    kind, name = job["kind"], job["metadata"]["name"]
    group = job["apiVersion"].rpartition("/")[0]
    text = "\n".join((kind, group, name, job["metadata"]["uid"]))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_HASH]
    return f"{f'{kind.lower()}-{name}'[: _LONGEST_NAME - _HASH - 1]}-{digest}"


def _cleaned(template: Mapping[str, Any]) -> Object:
    given = template.get("metadata") or {}
    metadata = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    return {"metadata": metadata, "spec": template["spec"]}


def _parallel(spec: Mapping[str, Any]) -> int:
    """How many pods of a Job run at a time."""
    parallelism = int(spec.get("parallelism", 1))
    return min(parallelism, int(spec["completions"])) if "completions" in spec else parallelism


def _placed(spec: Mapping[str, Any], wanted: tuple[Mapping[str, str], Sequence[Object]] | None) -> Object:
    selector, tolerations = wanted or ({}, ())
    changed: Object = {}
    if selector:
        changed["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    present = list(spec.get("tolerations") or ())
    if added := [entry for entry in tolerations if entry not in present]:
        changed["tolerations"] = [*present, *added]
    return changed
