"""The core group: Namespace, ConfigMap and ServiceAccount."""

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import SortedTexts


class Namespace(KubernetesObject, api_version="v1", scope="Cluster"):
    """A namespace; Pod Security levels are labels on it."""


class ConfigMap(KubernetesObject, api_version="v1"):
    """Text files by name; `immutable` forbids later changes of data."""

    immutable: bool | None = None
    data: SortedTexts


class LocalReference(KubernetesModel):
    """An object in the same namespace, by its name."""

    name: str


class ServiceAccount(KubernetesObject, api_version="v1"):
    """The identity of pods towards the API server."""
