"""Spectrum-X: how NICs are configured and named (configuration.net.nvidia.com), and rails and planes made of them.

The operators read these objects in the Network Operator's own namespace. The validation is that of the definitions'
rules, which the API server evaluates. Sources: definitions of Network Operator v26.7.0-rc.2; of the next line those of
NIC Configuration Operator 8bfbeb3 and Spectrum-X operator 246268d, which have further fields.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.device_plugin import PciAddress, PciId
from gpu_fabric.k8s.field_types import InterfaceName, NumberOrPercent

_CONFIGURATION = "configuration.net.nvidia.com/v1alpha1"
_CONNECTX_8, _CONNECTX_9, _BLUEFIELD_3 = "1023", "1025", "a2dc"

RAILS_LABEL = "spectrumx.nvidia.com/owner-name"
"""On what the Spectrum-X operator makes: the name of the SpectrumXRailPoolConfig."""

Labels = dict[str, str]


class NicTypeSelector(KubernetesModel):
    """The NICs of a device id, of which one function has one of the addresses."""

    nic_type: PciId
    pci_addresses: tuple[PciAddress, ...] | None = None


class SpectrumXOptimized(KubernetesModel):
    """Planes and tuning of a NIC.

    In 26.7 `version` names the ConfigMap with the profile. In the next line it is the architecture's version, and
    `platform_type`, which 26.7 does not know, chooses the recipe.
    """

    enabled: bool
    version: str
    platform_type: str | None = None
    multiplane_mode: Literal["none", "swplb", "hwplb"]
    number_of_planes: Literal[1, 2, 4]
    overlay: Literal["none", "l3"]

    @model_validator(mode="after")
    def _planes_fit_mode(self) -> Self:
        if (self.multiplane_mode == "none") != (self.number_of_planes == 1):
            raise ValueError(
                f"multiplaneMode {self.multiplane_mode} does not go with numberOfPlanes {self.number_of_planes}: none "
                "has 1, swplb and hwplb have 2 or 4"
            )
        return self


class PciPerformanceOptimized(KubernetesModel):
    """The size of a read request on the PCI bus, in bytes."""

    enabled: bool
    max_read_request: Literal[128, 256, 512, 1024, 2048, 4096] | None = None


class NicConfiguration(KubernetesModel):
    """What the NICs' firmware is configured for."""

    num_vfs: int = Field(ge=0)
    link_type: Literal["Ethernet", "Infiniband"]
    spectrum_x_optimized: SpectrumXOptimized | None = None
    pci_performance_optimized: PciPerformanceOptimized | None = None

    @model_validator(mode="after")
    def _spectrum_x_fits(self) -> Self:
        if self.spectrum_x_optimized is not None and (self.link_type != "Ethernet" or self.num_vfs != 1):
            raise ValueError("spectrumXOptimized needs linkType Ethernet and numVfs 1")
        return self


class NicConfigurationTemplateSpec(KubernetesModel):
    """The NICs meant, and their configuration; a change of it reboots the nodes."""

    node_selector: Labels | None = None
    nic_selector: NicTypeSelector
    template: NicConfiguration

    @model_validator(mode="after")
    def _nic_has_the_mode(self) -> Self:
        planes, nic = self.template.spectrum_x_optimized, self.nic_selector.nic_type
        if planes is not None and nic not in (_CONNECTX_8, _CONNECTX_9, _BLUEFIELD_3):
            raise ValueError(f"spectrumXOptimized is for nicType 1023, 1025 and a2dc, not for {nic}")
        if planes is not None and planes.multiplane_mode == "hwplb" and nic == _BLUEFIELD_3:
            raise ValueError("multiplaneMode hwplb is for nicType 1023 and 1025")
        return self


class NicConfigurationTemplate(KubernetesObject, api_version=_CONFIGURATION):
    """The configuration of some NICs, which the NIC Configuration Operator writes to them."""

    spec: NicConfigurationTemplateSpec


class NicInterfaceNameTemplateSpec(KubernetesModel):
    """Names of interfaces and RDMA devices by rail and plane; `rail_pci_addresses` has the NICs of each rail.

    A prefix may hold %nic_id%, %rail_id% and %plane_id%. Where that of RDMA devices has no %plane_id%, the functions
    of a NIC share one device.
    """

    node_selector: Labels | None = None
    pfs_per_nic: int = Field(ge=1, alias="pfsPerNic")
    rdma_device_prefix: str | None = None
    net_device_prefix: str
    rail_pci_addresses: tuple[tuple[PciAddress, ...], ...] = Field(min_length=1)


class NicInterfaceNameTemplate(KubernetesObject, api_version=_CONFIGURATION):
    """The names of NICs on the selected nodes; of two that select a node, neither counts."""

    spec: NicInterfaceNameTemplateSpec


class PfSelector(KubernetesModel):
    """Physical functions by interface: the planes of a rail, or the one of a rail's plane."""

    pf_names: tuple[InterfaceName, ...] = Field(min_length=1)


class RailTopology(KubernetesModel):
    """A rail, or a plane of one. Its name is that of a policy, of a network and of a resource of the SR-IOV operator.

    So it has neither dashes, which resources cannot have, nor underscores, which objects cannot have.
    """

    name: str = Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]+$")
    nic_selector: PfSelector
    cidr_pool_ref: str
    mtu: int = Field(ge=0)


class SpectrumXRailPoolConfigSpec(KubernetesModel):
    """The rails of the selected nodes.

    Without `dra_enabled: false` resources would be claimed. `max_unavailable` nodes are configured at a time.
    `vf_state_follow`, which 26.7 does not know, has pods see the link of their NIC's planes go down.
    """

    dra_enabled: bool
    node_selector: Labels | None = None
    network_namespace: str
    num_vfs: int = Field(ge=1)
    max_unavailable: NumberOrPercent | None = None
    rail_topology: tuple[RailTopology, ...] = Field(min_length=1)
    vf_state_follow: bool | None = None

    @model_validator(mode="after")
    def _rails_are_apart(self) -> Self:
        for what, values in (
            ("name", [rail.name for rail in self.rail_topology]),
            ("pfNames", [name for rail in self.rail_topology for name in rail.nic_selector.pf_names]),
            ("cidrPoolRef", [rail.cidr_pool_ref for rail in self.rail_topology]),
        ):
            if twice := sorted({value for value in values if values.count(value) > 1}):
                raise ValueError(f"railTopology: {what} {', '.join(twice)} comes twice")
        return self


class SpectrumXRailPoolConfig(KubernetesObject, api_version="spectrumx.nvidia.com/v1alpha2"):
    """Rails, of which the Spectrum-X operator makes policies, networks and resources."""

    spec: SpectrumXRailPoolConfigSpec
