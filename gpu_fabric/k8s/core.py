"""The core group: Namespace, ConfigMap and ServiceAccount."""

from pydantic import field_serializer

from gpu_fabric.k8s.base import KubernetesObject


class Namespace(KubernetesObject, api_version="v1", scope="Cluster"):
    """A namespace; Pod Security levels are labels on it."""


class ConfigMap(KubernetesObject, api_version="v1"):
    """Text files by name; `immutable` forbids later changes of data."""

    immutable: bool | None = None
    data: dict[str, str]

    @field_serializer("data")
    def _sorted(self, value: dict[str, str]) -> dict[str, str]:
        return dict(sorted(value.items()))


class ServiceAccount(KubernetesObject, api_version="v1"):
    """The identity of pods towards the API server."""
