"""batch/v1 and scheduling.k8s.io/v1: a Job at certain times, and the priority of its pods."""

from typing import Literal

from pydantic import Field, JsonValue

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject


class PriorityClass(KubernetesObject, api_version="scheduling.k8s.io/v1", plural="priorityclasses", scope="Cluster"):
    """A priority of pods; the API server never changes its value. Pods without a class have 0."""

    value: int = Field(ge=-(1 << 31), le=1_000_000_000)
    preemption_policy: Literal["Never", "PreemptLowerPriority"]
    description: str


class CronJobSpec(KubernetesModel):
    """When Jobs start, how long their objects are kept, and the Job, whose template has the fabric attached."""

    schedule: str
    time_zone: str
    concurrency_policy: Literal["Allow", "Forbid", "Replace"]
    starting_deadline_seconds: int = Field(ge=10)
    successful_jobs_history_limit: int = Field(ge=0)
    failed_jobs_history_limit: int = Field(ge=0)
    job_template: dict[str, JsonValue]


class CronJob(KubernetesObject, api_version="batch/v1"):
    """A Job at certain times."""

    spec: CronJobSpec
