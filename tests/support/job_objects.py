"""Jobs of every kind, nodes and pods as the API server would hand them to the controllers of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.hardware.jobs.turns import Turn, reference

Object = dict[str, Any]

NOW = "2026-01-01T00:00:00Z"
GPU = "nvidia.com/gpu"


def template(name: str = "main", gpus: int = 8, **spec: Any) -> Object:
    """A pod template whose one container takes so many GPUs."""
    resources = {"limits": {GPU: str(gpus)}} if gpus else {"requests": {"cpu": "1"}}
    return {"spec": {"containers": [{"name": name, "image": "training", "resources": resources}], **spec}}


def gpu_node(
    name: str, gpus: int = 8, taints: Iterable[Object] = (), labels: Mapping[str, str] | None = None
) -> Object:
    """A node that is ready, and offers GPUs."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"cpu": "112", "memory": "2Ti", "pods": "110", GPU: str(gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def job(kind: str, version: str, spec: Object, name: str = "train", **metadata: Any) -> Object:
    """An object of a namespace, as it is after its creation."""
    known = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "creationTimestamp": NOW, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": known, "spec": spec}


def volcano_job(workers: int = 2, **spec: Any) -> Object:
    """A launcher and workers that start together, as in the OKE guide's test."""
    ends = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    tasks = [
        {"name": "mpimaster", "replicas": 1, "policies": ends, "template": template(gpus=0)},
        {"name": "mpiworker", "replicas": workers, "template": template()},
    ]
    plugins: Object = {"ssh": [], "svc": []}
    return job("Job", "batch.volcano.sh/v1alpha1", {"plugins": plugins, "tasks": tasks, **spec})


def mpi_job(workers: int = 2, run_policy: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    """A launcher without GPUs, and workers with eight each."""
    roles = {
        "Launcher": {"replicas": 1, "template": template(gpus=0)},
        "Worker": {"replicas": workers, "template": template()},
    }
    policy = {"runPolicy": dict(run_policy)} if run_policy else {}
    return job("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": roles, "slotsPerWorker": 8, **policy, **spec})


def running(pod: Object, phase: str = "Running") -> Object:
    """A pod that its node has started, or that is over."""
    ready = {"type": "Ready", "status": str(phase == "Running")}
    return {**pod, "status": {"phase": phase, "conditions": [ready]}}


def made(turn: Turn, kind: str) -> list[Object]:
    """What a turn makes of a kind."""
    return [item for item in turn.creates if item["kind"] == kind]


def names(items: Iterable[Object]) -> list[str]:
    """The names of objects."""
    return [item["metadata"]["name"] for item in items]


def after(turn: Turn, item: Object) -> Object:
    """An object with the status that a turn writes to it."""
    uid = item["metadata"]["uid"]
    return next(({**item, "status": status} for old, status in turn.statuses if old["metadata"]["uid"] == uid), item)


def with_uid(item: Object) -> Object:
    """What was made, as it is after its creation."""
    uid = f"uid-of-{item['kind']}-{item['metadata']['name']}"
    return {**item, "metadata": {**item["metadata"], "uid": uid, "creationTimestamp": NOW}}


def owned_pod(owner: Object, name: str, **labels: str) -> Object:
    """A pod that an object controls."""
    metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [reference(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
