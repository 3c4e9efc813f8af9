"""The core group: Namespace, ConfigMap, Service, ServiceAccount and ResourceQuota."""

from typing import Literal

from pydantic import Field

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


class ServicePort(KubernetesModel):
    """A port of a Service."""

    name: str
    port: int = Field(ge=1, le=65535)


class ServiceSpec(KubernetesModel):
    """A headless Service: a DNS name for each of its pods that has a host name."""

    cluster_ip: Literal["None"] = Field(default="None", serialization_alias="clusterIP")
    publish_not_ready_addresses: bool | None = None
    selector: dict[str, str] = Field(min_length=1)
    ports: tuple[ServicePort, ...]


class Service(KubernetesObject, api_version="v1"):
    """DNS names of pods."""

    spec: ServiceSpec


class ServiceAccount(KubernetesObject, api_version="v1"):
    """The identity of pods towards the API server."""
