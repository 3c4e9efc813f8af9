"""scheduling.volcano.sh/v1beta1: queues of Volcano."""

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject


class QueueSpec(KubernetesModel):
    """The queue's share of the cluster: its weight relative to the other queues."""

    weight: int = Field(ge=1, le=65535)


class Queue(KubernetesObject, api_version="scheduling.volcano.sh/v1beta1", scope="Cluster"):
    """A queue of the whole cluster."""

    spec: QueueSpec
