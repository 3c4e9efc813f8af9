"""The configuration texts of the SR-IOV and RDMA shared device plug-ins in a NicClusterPolicy.

The validation follows the plug-ins and the Network Operator's webhook, which is stricter than the SR-IOV plug-in (no
dash in resource names, no unknown selectors). The RDMA shared plug-in exits on a node with RDMA mode `exclusive`, and
reads its configuration only at its start.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gpu_fabric.k8s.base import KubernetesModel, compact_json
from gpu_fabric.k8s.field_types import InterfaceName

PciId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
PciAddress = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
# A root device or a physical function's name may end in "#first-last,other", which selects virtual functions.
RootDevice = Annotated[
    str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](#[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$")
]
PfName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}(#[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$")]

ResourcePrefix = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")]

DeviceType = Literal["netDevice", "accelerator", "auxNetDevice"]

# Selectors that a device type does not support, by their JSON names (SR-IOV network device plug-in, selector table).
_REFUSED: dict[str, frozenset[str]] = {
    "netDevice": frozenset({"auxTypes"}),
    "accelerator": frozenset(
        {
            "pfNames",
            "rootDevices",
            "linkTypes",
            "ddpProfiles",
            "isRdma",
            "needVhostNet",
            "vdpaType",
            "auxTypes",
        }
    ),
    "auxNetDevice": frozenset({"pciAddresses", "ddpProfiles", "vdpaType"}),
}


class DeviceSelectors(KubernetesModel):
    """Selectors of a device: it must match every given selector, and one entry of each list."""

    vendors: tuple[PciId, ...] | None = None
    devices: tuple[PciId, ...] | None = None
    drivers: tuple[str, ...] | None = None
    pci_addresses: tuple[PciAddress, ...] | None = None
    pf_names: tuple[PfName, ...] | None = None
    root_devices: tuple[RootDevice, ...] | None = None
    link_types: tuple[Literal["ether", "infiniband"], ...] | None = Field(default=None, max_length=1)
    ddp_profiles: tuple[str, ...] | None = None
    is_rdma: bool | None = None
    need_vhost_net: bool | None = None
    vdpa_type: Literal["virtio", "vhost"] | None = None
    aux_types: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _combination(self) -> Self:
        if self.is_rdma and self.vdpa_type is not None:
            raise ValueError("isRdma excludes vdpaType: a vDPA device has no RDMA device")
        if self.is_rdma and "vfio-pci" in (self.drivers or ()):
            raise ValueError("isRdma excludes driver vfio-pci: mlx5 devices stay on mlx5_core, also for DPDK")
        return self


class _Advertised(KubernetesModel):
    resource_prefix: ResourcePrefix
    resource_name: str

    @property
    def name(self) -> str:
        """The extended resource that pods request."""
        return f"{self.resource_prefix}/{self.resource_name}"


class SriovResource(_Advertised):
    """One extended resource `<resource_prefix>/<resource_name>` and the devices in it."""

    resource_prefix: ResourcePrefix = "nvidia.com"
    device_type: DeviceType = "netDevice"
    exclude_topology: bool | None = None
    selectors: DeviceSelectors | tuple[DeviceSelectors, ...]

    @field_validator("resource_name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not value or not all(c.isascii() and (c.isalnum() or c in "_.") for c in value):
            raise ValueError(
                f"resourceName {value!r}: allowed are letters, digits, '_' and '.' (the operator refuses a dash), "
                "without the prefix"
            )
        return value

    @model_validator(mode="after")
    def _selectors_fit_type(self) -> Self:
        for selectors in self.alternatives:
            refused = sorted(selectors.to_dict().keys() & _REFUSED[self.device_type])
            if refused:
                raise ValueError(f"{self.name}: deviceType {self.device_type} does not know {', '.join(refused)}")
        return self

    @property
    def alternatives(self) -> tuple[DeviceSelectors, ...]:
        """The selectors, of which one must match."""
        return self.selectors if isinstance(self.selectors, tuple) else (self.selectors,)


class SriovDevicePluginConfig(KubernetesModel):
    """All resources of a node; a device belongs to the first one that it matches."""

    resource_list: tuple[SriovResource, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [resource.name for resource in self.resource_list]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"resource names must be unique, these are doubled: {', '.join(doubled)}")
        return self

    def to_json(self) -> str:
        """The text for `spec.sriovDevicePlugin.config`: sorted keys, no spaces."""
        return compact_json(self.to_dict())


_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?")


class RdmaSelectors(KubernetesModel):
    """Selectors of a NIC: it must match every given selector, and one entry of each list; empty lists are ignored."""

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


class RdmaSharedResource(_Advertised):
    """One extended resource `<resource_prefix>/<resource_name>`, of which a node advertises `rdma_hca_max`.

    The plug-in also accepts 0, and then advertises nothing.
    """

    resource_prefix: ResourcePrefix = "rdma"
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


class RdmaSharedDevicePluginConfig(KubernetesModel):
    """All shared resources of a node; `periodic_update_interval` in seconds; with 0, NICs are searched only once."""

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
