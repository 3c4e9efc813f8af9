"""The core group: Namespace, ConfigMap, ServiceAccount and ResourceQuota."""

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import Quantity, SortedTexts


class Namespace(KubernetesObject, api_version="v1", scope="Cluster"):
    """A namespace; Pod Security levels are labels on it."""


class ConfigMap(KubernetesObject, api_version="v1"):
    """Text files by name; `immutable` forbids later changes of data."""

    immutable: bool | None = None
    data: SortedTexts


class ResourceQuotaSpec(KubernetesModel):
    """What all pods of a namespace can request together, such as `requests.nvidia.com/gpu`."""

    hard: dict[str, Quantity]


class ResourceQuota(KubernetesObject, api_version="v1"):
    """A limit on a namespace, which the API server enforces when pods are created."""

    spec: ResourceQuotaSpec


class LocalReference(KubernetesModel):
    """An object in the same namespace, by its name."""

    name: str


class ServiceAccount(KubernetesObject, api_version="v1"):
    """The identity of pods towards the API server."""
