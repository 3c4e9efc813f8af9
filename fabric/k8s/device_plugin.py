"""The configuration text of the SR-IOV network device plug-in, as NicClusterPolicy carries it.

The rules are those of the plug-in together with those of the Network Operator's webhook, which is
stricter (no dash in resource names, no unknown selectors).
"""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from fabric.k8s.base import KubernetesModel, compact_json

PciId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
PciAddress = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
# A root device or a physical function's name may end in "#first-last,other": the virtual functions meant.
RootDevice = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](#\d+(-\d+)?(,\d+(-\d+)?)*)?$")]
PfName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}(#\d+(-\d+)?(,\d+(-\d+)?)*)?$")]

DeviceType = Literal["netDevice", "accelerator", "auxNetDevice"]

# Selectors that a device type does not know, by their JSON names (SR-IOV network device plug-in, selector table).
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
    """What a device must be: every given selector must hold, and in a list one entry must hold."""

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


class SriovResource(KubernetesModel):
    """One extended resource `<resource_prefix>/<resource_name>` and the devices in it."""

    resource_prefix: str = Field(
        default="nvidia.com", pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$"
    )
    resource_name: str
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
    def name(self) -> str:
        """The extended resource that pods request."""
        return f"{self.resource_prefix}/{self.resource_name}"

    @property
    def alternatives(self) -> tuple[DeviceSelectors, ...]:
        """The selectors, of which one must match."""
        return self.selectors if isinstance(self.selectors, tuple) else (self.selectors,)


class SriovDevicePluginConfig(KubernetesModel):
    """All resources of a node; a device joins the first one that it matches."""

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
