"""kueue.x-k8s.io/v1beta2: queues of jobs, their quotas, and the topology of the nodes."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import Quantity
from gpu_fabric.k8s.names import HOSTNAME_LABEL
from gpu_fabric.k8s.scheduling import LabelSelector, Toleration

API_VERSION = "kueue.x-k8s.io/v1beta2"

MOST_LEVELS = 16
MOST_LABELS = MOST_TOLERATIONS = 8
MOST_RESOURCES = 64

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
"""Whether a queue stops admitting jobs, and whether it also evicts the running ones."""


class TopologyLevel(KubernetesModel):
    """One level: nodes with the same value of this label are in the same domain."""

    node_label: str = Field(min_length=1, max_length=316)


class TopologySpec(KubernetesModel):
    """The levels, the widest first; they never change."""

    levels: tuple[TopologyLevel, ...] = Field(min_length=1, max_length=MOST_LEVELS)

    @model_validator(mode="after")
    def _levels_differ(self) -> Self:
        labels = [level.node_label for level in self.levels]
        if len(set(labels)) != len(labels):
            raise ValueError("a label is for one level only")
        if HOSTNAME_LABEL in labels[:-1]:
            raise ValueError(f"{HOSTNAME_LABEL} is the lowest level: no other is within a node")
        return self


class Topology(KubernetesObject, api_version=API_VERSION, scope="Cluster"):
    """The topology of a cluster's nodes."""

    spec: TopologySpec


class ResourceFlavorSpec(KubernetesModel):
    """The nodes of a flavor; pods admitted to it get its labels as node selector, and its tolerations.

    With a topology, Kueue checks the free resources of every node, and no field can change.
    """

    node_labels: dict[str, str] | None = Field(default=None, max_length=MOST_LABELS)
    tolerations: tuple[Toleration, ...] | None = Field(default=None, max_length=MOST_TOLERATIONS)
    topology_name: str | None = Field(default=None, max_length=253)

    @model_validator(mode="after")
    def _topology_has_nodes(self) -> Self:
        if self.topology_name is not None and not self.node_labels:
            raise ValueError("a flavor with topologyName needs nodeLabels")
        return self


class ResourceFlavor(KubernetesObject, api_version=API_VERSION, scope="Cluster"):
    """Nodes that are equivalent for a queue."""

    spec: ResourceFlavorSpec


class ResourceQuota(KubernetesModel):
    """The quota of a resource in the queue."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None


class FlavorQuotas(KubernetesModel):
    """The quotas of one flavor in the queue."""

    name: str = Field(max_length=253)
    resources: tuple[ResourceQuota, ...] = Field(min_length=1, max_length=MOST_RESOURCES)


class ResourceGroup(KubernetesModel):
    """Resources that a pod gets from the same flavor; every flavor has a quota of each, in the same order."""

    covered_resources: tuple[str, ...] = Field(min_length=1, max_length=MOST_RESOURCES)
    flavors: tuple[FlavorQuotas, ...] = Field(min_length=1, max_length=64)

    @model_validator(mode="after")
    def _flavors_cover_all(self) -> Self:
        for flavor in self.flavors:
            if tuple(entry.name for entry in flavor.resources) != self.covered_resources:
                raise ValueError(f"flavor {flavor.name} must have a quota of each covered resource, in their order")
        return self


class QueuePreemption(KubernetesModel):
    """Whose jobs are stopped for the queue's: `Any` are those that hold quota which others lent them."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"]


class ClusterQueueSpec(KubernetesModel):
    """The namespaces of the queue, and its quotas; a pod that requests any other resource is never admitted.

    Queues of one cohort lend each other what they do not use.
    """

    cohort_name: str | None = Field(default=None, max_length=253)
    preemption: QueuePreemption | None = None

    namespace_selector: LabelSelector | None = None
    resource_groups: tuple[ResourceGroup, ...] = Field(min_length=1, max_length=16)
    stop_policy: StopPolicy | None = None


class ClusterQueue(KubernetesObject, api_version=API_VERSION, scope="Cluster"):
    """A queue of the whole cluster, which admits jobs within its quotas; `Active` once its flavors exist."""

    spec: ClusterQueueSpec


class LocalQueueSpec(KubernetesModel):
    """The name of its ClusterQueue."""

    cluster_queue: str = Field(max_length=253)
    stop_policy: StopPolicy | None = None


class LocalQueue(KubernetesObject, api_version=API_VERSION):
    """A queue of a namespace, which refers to a ClusterQueue; jobs name this queue."""

    spec: LocalQueueSpec
