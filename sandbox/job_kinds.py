"""Kinds of jobs and of what is made for them, as their controllers' stand-in charts define them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.open_parts import OpenObject


class VolcanoPolicy(KubernetesModel):
    """What Volcano does at an event of a job or a task."""

    event: str | None = None
    events: tuple[str, ...] | None = None
    action: str


class VolcanoTask(KubernetesModel):
    """Pods of a job that are alike; the definition leaves the template open."""

    name: str
    replicas: int = Field(ge=0)
    min_available: int | None = Field(default=None, ge=0)
    policies: tuple[VolcanoPolicy, ...] | None = None
    max_retry: int | None = Field(default=None, ge=0)
    template: dict[str, Any]


class VolcanoJobSpec(KubernetesModel):
    """Tasks that start together: `min_available` pods, or none."""

    min_available: int | None = Field(default=None, ge=0)
    min_success: int | None = Field(default=None, ge=1)
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    queue: str | None = None
    plugins: dict[str, tuple[str, ...]] | None = None
    policies: tuple[VolcanoPolicy, ...] | None = None
    max_retry: int | None = Field(default=None, ge=0)
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0)
    tasks: tuple[VolcanoTask, ...]


class VolcanoJob(KubernetesObject):
    """A job of Volcano's; in the sandbox `sandbox.hardware.jobs` makes its pods."""

    api_version: ClassVar[str] = "batch.volcano.sh/v1alpha1"
    kind: ClassVar[str] = "Job"
    plural: ClassVar[str] = "jobs"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ("vcjob", "vj")

    spec: VolcanoJobSpec
    status: OpenObject | None = None


class PodGroupSpec(KubernetesModel):
    """How many pods start together, and in which queue."""

    min_member: int | None = Field(default=None, ge=0)
    min_task_member: dict[str, int] | None = None
    min_resources: dict[str, str] | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class PodGroup(KubernetesObject):
    """The pods of one job, which Volcano makes for it."""

    api_version: ClassVar[str] = "scheduling.volcano.sh/v1beta1"
    kind: ClassVar[str] = "PodGroup"
    plural: ClassVar[str] = "podgroups"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ("pg", "podgroup-v1beta1")

    spec: PodGroupSpec
    status: OpenObject | None = None


class WorkloadPodSet(KubernetesModel):
    """Pods of a job that are alike, and how many."""

    name: str
    count: int = Field(ge=0)
    template: OpenObject


class WorkloadSpec(KubernetesModel):
    """What a job asks for, and of which queue."""

    queue_name: str
    pod_sets: tuple[WorkloadPodSet, ...]
    active: bool | None = None
    priority: int | None = None


class Workload(KubernetesObject):
    """A job in a queue of Kueue, which makes it for the job and admits it; the status is Kueue's own."""

    api_version: ClassVar[str] = "kueue.x-k8s.io/v1beta2"
    kind: ClassVar[str] = "Workload"
    plural: ClassVar[str] = "workloads"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ("wl",)

    spec: WorkloadSpec
    status: OpenObject | None = None
