"""scheduling.volcano.sh/v1beta1: queues of Volcano."""

from typing import ClassVar, Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject


class QueueSpec(KubernetesModel):
    """The queue's share of the cluster: its weight relative to the other queues."""

    weight: int = Field(ge=1, le=65535)


class Queue(KubernetesObject):
    """A queue of the whole cluster."""

    api_version: ClassVar[str] = "scheduling.volcano.sh/v1beta1"
    kind: ClassVar[str] = "Queue"
    plural: ClassVar[str] = "queues"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("q", "queue-v1beta1")

    spec: QueueSpec
