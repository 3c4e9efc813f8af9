"""scheduling.volcano.sh/v1beta1: queues that Volcano takes jobs from."""

from typing import ClassVar, Literal

from pydantic import Field

from fabric.k8s.base import KubernetesModel, KubernetesObject


class QueueSpec(KubernetesModel):
    """How much of the cluster the queue's jobs get beside those of others: its weight among all."""

    weight: int = Field(ge=1, le=65535)


class Queue(KubernetesObject):
    """A queue of the whole cluster."""

    api_version: ClassVar[str] = "scheduling.volcano.sh/v1beta1"
    kind: ClassVar[str] = "Queue"
    plural: ClassVar[str] = "queues"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("q", "queue-v1beta1")

    spec: QueueSpec
