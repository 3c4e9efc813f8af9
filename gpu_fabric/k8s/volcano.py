"""scheduling.volcano.sh/v1beta1: queues of Volcano."""

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import Quantity


class Guarantee(KubernetesModel):
    """What is kept for a queue whether or not it uses it."""

    resource: dict[str, Quantity]


class QueueSpec(KubernetesModel):
    """The queue's share of the cluster: its weight relative to the other queues, and amounts of resources.

    `capability` is the most that its jobs get, `guarantee` what is kept for them, and `deserved` between the two; the
    admission asks for the third where the second is written (pkg/webhooks/admission/queues/validate).
    """

    weight: int = Field(ge=1, le=65535)
    capability: dict[str, Quantity] | None = None
    deserved: dict[str, Quantity] | None = None
    guarantee: Guarantee | None = None


class Queue(KubernetesObject, api_version="scheduling.volcano.sh/v1beta1", scope="Cluster"):
    """A queue of the whole cluster."""

    spec: QueueSpec
