"""jobset.x-k8s.io/v1alpha2: several Jobs as one, whose pods know each other by name."""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import Condition, KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import OpenPodTemplate


class JobSetDependency(KubernetesModel):
    """Another replicated job that must first reach this status."""

    name: str
    status: Literal["Ready", "Complete"]


class ReplicatedJob(KubernetesModel):
    """A number of equal Jobs with a name; the template is that of a Job."""

    name: str
    group_name: str | None = None
    replicas: int | None = None
    depends_on: tuple[JobSetDependency, ...] | None = Field(default=None, max_length=5)
    template: OpenPodTemplate


class JobSetNetwork(KubernetesModel):
    """DNS names of the pods, and their subdomain."""

    enable_dns_hostnames: bool | None = None
    publish_not_ready_addresses: bool | None = None
    subdomain: str | None = None


class JobSetSuccessPolicy(KubernetesModel):
    """The jobs that must complete."""

    operator: Literal["All", "Any"]
    target_replicated_jobs: tuple[str, ...] | None = None


class JobSetFailurePolicy(KubernetesModel):
    """The number and kind of restarts after a failure."""

    max_restarts: int | None = None
    restart_strategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] | None = None


class JobSetStartupPolicy(KubernetesModel):
    """Whether the jobs start in their order."""

    startup_policy_order: Literal["AnyOrder", "InOrder"]


class JobSetCoordinator(KubernetesModel):
    """The pod that the others find by an annotation."""

    replicated_job: str
    job_index: int | None = None
    pod_index: int | None = None


class JobSetSpec(KubernetesModel):
    """The jobs and the policies of success and failure; Kueue suspends the JobSet by `suspend`."""

    replicated_jobs: tuple[ReplicatedJob, ...] | None = None
    network: JobSetNetwork | None = None
    success_policy: JobSetSuccessPolicy | None = None
    failure_policy: JobSetFailurePolicy | None = None
    startup_policy: JobSetStartupPolicy | None = None
    coordinator: JobSetCoordinator | None = None
    managed_by: str | None = None
    suspend: bool | None = None
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0)


class ReplicatedJobStatus(KubernetesModel):
    """The number of jobs in each state, of one replicated job."""

    name: str
    ready: int
    succeeded: int
    failed: int
    active: int
    suspended: int


class JobSetStatus(KubernetesModel):
    """The state of the JobSet."""

    conditions: tuple[Condition, ...] | None = None
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] | None = None
    restarts: int | None = None
    terminal_state: str | None = None


class JobSet(KubernetesObject, api_version="jobset.x-k8s.io/v1alpha2"):
    """Jobs that start, fail and complete together."""

    spec: JobSetSpec
    status: JobSetStatus | None = None
