"""k8s.cni.cncf.io/v1: the NetworkAttachmentDefinition that Multus reads."""

import json
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from fabric.k8s.base import KubernetesModel, KubernetesObject

RESOURCE_NAME_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName"
"""On a NetworkAttachmentDefinition: the extended resource that feeds the device id to the CNI plug-in."""

DEFAULT_NETWORK_ANNOTATION = "v1.multus-cni.io/default-network"
"""On a pod: the network of its own first interface, as namespace/name."""

NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
"""On a pod: the networks to attach."""


class NetworkAttachmentDefinitionSpec(KubernetesModel):
    """`config` is a CNI configuration as JSON text; see `fabric.k8s.cni_config`."""

    config: str = Field(description="CNI configuration as JSON text.")

    @field_validator("config")
    @classmethod
    def _is_cni_json(cls, value: str) -> str:
        try:
            configuration = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"config is not JSON: {error}") from None
        if not isinstance(configuration, dict) or not ({"type", "plugins"} & configuration.keys()):
            raise ValueError("config must be a JSON object with 'type' (one plug-in) or 'plugins' (a chain)")
        return value


class NetworkAttachmentDefinition(KubernetesObject):
    """A secondary network that pods of its namespace may name."""

    api_version: ClassVar[str] = "k8s.cni.cncf.io/v1"
    kind: ClassVar[str] = "NetworkAttachmentDefinition"
    plural: ClassVar[str] = "network-attachment-definitions"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ("net-attach-def",)

    spec: NetworkAttachmentDefinitionSpec
