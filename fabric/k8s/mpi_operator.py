"""kubeflow.org/v2beta1: the MPI operator's job, a launcher that starts its ranks on workers through ssh."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.open_parts import OpenObject, OpenPodTemplate

_Quantity = Annotated[str, WithJsonSchema({"x-kubernetes-int-or-string": True})]


class MPISchedulingPolicy(KubernetesModel):
    """How a gang scheduler treats the pods, where the operator was told of one."""

    min_available: int | None = None
    min_resources: dict[str, _Quantity] | None = None
    priority_class: str | None = None
    queue: str | None = None
    schedule_timeout_seconds: int | None = None


class MPIRunPolicy(KubernetesModel):
    """How long the job may run, what stays of it, and whether it waits; a queue holds it by `suspend`."""

    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    clean_pod_policy: str | None = None
    managed_by: str | None = None
    scheduling_policy: MPISchedulingPolicy | None = None
    suspend: bool | None = None
    ttl_seconds_after_finished: int | None = None


class MPIReplicaSpec(KubernetesModel):
    """Pods that are alike; one of them by default."""

    replicas: int | None = None
    restart_policy: str | None = None
    template: OpenPodTemplate | None = None


class MPIJobSpec(KubernetesModel):
    """The roles are `Launcher` and `Worker`."""

    launcher_creation_policy: str | None = None
    mpi_implementation: Literal["OpenMPI", "Intel", "MPICH"] | None = None
    mpi_replica_specs: dict[str, MPIReplicaSpec]
    run_launcher_as_worker: bool | None = None
    run_policy: MPIRunPolicy | None = None
    slots_per_worker: int | None = None
    ssh_auth_mount_path: str | None = None


class MPIJob(KubernetesObject):
    """A job of MPI, as the MPI operator 0.8.0 defines it; the operator itself fills in what is left out."""

    api_version: ClassVar[str] = "kubeflow.org/v2beta1"
    kind: ClassVar[str] = "MPIJob"
    plural: ClassVar[str] = "mpijobs"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"

    spec: MPIJobSpec
    status: OpenObject | None = Field(default=None, description="the operator's")
