"""The core group: Namespace, ConfigMap and ServiceAccount."""

from typing import ClassVar, Literal

from pydantic import field_serializer

from gpu_fabric.k8s.base import KubernetesObject


class Namespace(KubernetesObject):
    """A namespace; Pod Security levels are labels on it."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Namespace"
    plural: ClassVar[str] = "namespaces"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"


class ConfigMap(KubernetesObject):
    """Text files by name; `immutable` forbids later changes of data."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ConfigMap"
    plural: ClassVar[str] = "configmaps"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"

    immutable: bool | None = None
    data: dict[str, str]

    @field_serializer("data")
    def _sorted(self, value: dict[str, str]) -> dict[str, str]:
        return dict(sorted(value.items()))


class ServiceAccount(KubernetesObject):
    """The identity of pods towards the API server."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ServiceAccount"
    plural: ClassVar[str] = "serviceaccounts"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
