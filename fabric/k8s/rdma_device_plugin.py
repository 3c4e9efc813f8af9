"""The configuration text of the RDMA shared device plug-in, as NicClusterPolicy carries it.

The rules are those of the plug-in together with those of the Network Operator's webhook. The plug-in itself exits on
a node whose RDMA mode is `exclusive`, and reads its configuration only when it starts.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from fabric.k8s.base import KubernetesModel, compact_json
from fabric.k8s.device_plugin import PciId
from fabric.k8s.names import InterfaceName

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?")


class RdmaSelectors(KubernetesModel):
    """What a NIC must be: every given selector must hold, and in a list one entry must hold; an empty list is none."""

    vendors: tuple[PciId, ...] | None = None
    device_ids: tuple[PciId, ...] | None = None
    drivers: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    if_names: tuple[InterfaceName, ...] | None = None
    link_types: tuple[Literal["ether", "infiniband"], ...] | None = None

    @model_validator(mode="after")
    def _selects(self) -> Self:
        if not any(self.to_dict().values()):
            raise ValueError("selectors are empty: give vendors, deviceIDs, drivers, ifNames or linkTypes")
        return self


class RdmaSharedResource(KubernetesModel):
    """One extended resource `<resource_prefix>/<resource_name>`, of which a node advertises `rdma_hca_max`.

    The plug-in takes 0 as well, and advertises nothing then.
    """

    resource_prefix: str = Field(
        default="rdma", pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$"
    )
    resource_name: str
    rdma_hca_max: int = Field(ge=1)
    selectors: RdmaSelectors

    @field_validator("resource_name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(
                f"resourceName {value!r}: allowed are at most 63 letters, digits and '_', with a letter or digit at "
                "both ends, without the prefix"
            )
        return value

    @property
    def name(self) -> str:
        """The extended resource that pods request."""
        return f"{self.resource_prefix}/{self.resource_name}"


class RdmaSharedDevicePluginConfig(KubernetesModel):
    """All shared resources of a node; `periodic_update_interval` in seconds, 0 never looks for NICs again."""

    periodic_update_interval: int | None = Field(default=None, ge=0)
    config_list: tuple[RdmaSharedResource, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        by_name: dict[str, RdmaSharedResource] = {}
        for resource in self.config_list:
            if resource.resource_name in by_name:
                raise ValueError(f"resource names must be unique, whatever their prefix: {resource.resource_name}")
            for other in by_name.values():
                if other.selectors == resource.selectors:
                    raise ValueError(f"{other.name} and {resource.name} select the same NICs: give each its own")
            by_name[resource.resource_name] = resource
        return self

    def to_json(self) -> str:
        """The text for `spec.rdmaSharedDevicePlugin.config`: sorted keys, no spaces."""
        return compact_json(self.to_dict())
