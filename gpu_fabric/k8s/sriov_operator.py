"""sriovnetwork.openshift.io/v1: virtual functions, networks and node states of the SR-IOV Network Operator.

The operator reads these objects only in its own namespace. The validation follows the operator's webhook, which the
Network Operator's chart disables by default.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpu_fabric.base.grammar import is_label_value
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.cni import CapabilitiesText, IpamText, LinkState, MetaPluginsText, OnOff
from gpu_fabric.k8s.device_plugin import PciAddress, PciId
from gpu_fabric.k8s.field_types import NumberOrPercent
from gpu_fabric.k8s.mellanox import NVIDIA
from gpu_fabric.k8s.scheduling import LabelSelector

_API_VERSION = "sriovnetwork.openshift.io/v1"

MOST_VFS = 128
"""Limit of the virtual functions that the operator creates on one physical function of NVIDIA's NICs."""

RESOURCE_PREFIX = "nvidia.com"
"""Prefix of the operator's resource names, as the Network Operator's chart configures it."""

RdmaMode = Literal["shared", "exclusive"]

# Unlike the device plug-in, the operator accepts only one range, not a list of ranges.
_PF = re.compile(r"(?P<name>[^/:\s#]{1,15})(#(?P<first>[0-9]+)-(?P<last>[0-9]+))?")
_RESOURCE_NAME = re.compile(r"[A-Za-z0-9_]+")
_NET_FILTER = re.compile(r"(openstack|aws)/NetworkID:\S+")


def _resource_name(value: str) -> str:
    if not _RESOURCE_NAME.fullmatch(value):
        raise ValueError(
            f"resourceName {value!r}: allowed are letters, digits and '_', without the prefix, which the operator adds"
        )
    return value


ResourceName = Annotated[str, AfterValidator(_resource_name)]
"""A resource without its prefix, as policies and networks name it."""


class NicSelector(KubernetesModel):
    """The physical functions meant: every given part must hold, and in a list one entry must hold.

    An entry of `pf_names` may end in `#first-last`, the virtual functions that form the resource.
    """

    vendor: PciId | None = None
    device_id: PciId | None = None
    pf_names: tuple[str, ...] | None = None
    # The operator compares these as whole texts, so an entry with a range would never match.
    root_devices: tuple[PciAddress, ...] | None = None
    net_filter: str | None = None

    @field_validator("pf_names")
    @classmethod
    def _names_and_ranges(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        names = []
        for entry in value or ():
            match = _PF.fullmatch(entry)
            if match is None:
                raise ValueError(f"{entry!r} is not a physical function: write an interface name, or <name>#first-last")
            if match["last"] and int(match["last"]) < int(match["first"]):
                raise ValueError(f"{entry!r}: the range of virtual functions must not end before it starts")
            names.append(match["name"])
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"{', '.join(doubled)} comes twice: only a function's first entry would count")
        return value

    @model_validator(mode="after")
    def _selects(self) -> Self:
        given = self.to_dict()
        if not any(given.values()):
            raise ValueError("nicSelector needs at least one of vendor, deviceID, pfNames, rootDevices and netFilter")
        if self.net_filter is not None:
            if not _NET_FILTER.fullmatch(self.net_filter):
                raise ValueError(f"netFilter {self.net_filter!r}: write openstack/NetworkID:<id> or aws/NetworkID:<id>")
            others = sorted(given.keys() - {"netFilter"})
            if others:
                raise ValueError(f"netFilter excludes the other selectors: leave out {', '.join(others)}")
        return self

    def beyond(self, functions: int) -> tuple[str, ...]:
        """The entries of `pf_names` whose range exceeds this number of virtual functions, which count from 0."""
        matches = [_PF.fullmatch(entry) for entry in self.pf_names or ()]
        return tuple(match[0] for match in matches if match and match["last"] and int(match["last"]) >= functions)


class SriovNetworkNodePolicySpec(KubernetesModel):
    """Virtual functions of the selected NICs on the selected nodes, and the resource that they form.

    With `externally_managed` they must exist. Of two policies for one NIC, the one with the lower `priority` takes
    precedence. `mtu` in bytes.
    """

    resource_name: ResourceName
    node_selector: dict[str, str]
    nic_selector: NicSelector
    num_vfs: int = Field(ge=1, le=MOST_VFS)
    priority: int | None = Field(default=None, ge=0, le=99)
    mtu: int | None = Field(default=None, ge=1)
    device_type: Literal["netdevice", "vfio-pci"] | None = None
    is_rdma: bool | None = None
    link_type: Literal["eth", "ETH", "ib", "IB"] | None = None
    e_switch_mode: Literal["legacy", "switchdev"] | None = None
    vdpa_type: Literal["virtio", "vhost"] | None = None
    need_vhost_net: bool | None = None
    exclude_topology: bool | None = None
    externally_managed: bool | None = None

    @field_validator("node_selector")
    @classmethod
    def _label_values(cls, value: dict[str, str]) -> dict[str, str]:
        wrong = sorted(f"{key}={label!r}" for key, label in value.items() if not is_label_value(label))
        if wrong:
            raise ValueError(f"nodeSelector {', '.join(wrong)}: no node can have such a label")
        return value

    @model_validator(mode="after")
    def _ranges_fit(self) -> Self:
        beyond = self.nic_selector.beyond(self.num_vfs)
        if beyond:
            raise ValueError(
                f"pfNames {', '.join(beyond)}: numVfs {self.num_vfs} creates the virtual functions 0-{self.num_vfs - 1}"
            )
        return self

    @model_validator(mode="after")
    def _driver_fits(self) -> Self:
        if self.device_type == "vfio-pci":
            if self.is_rdma:
                raise ValueError("isRdma excludes deviceType vfio-pci: only netdevice keeps the RDMA device")
            if self.nic_selector.vendor == NVIDIA:
                raise ValueError(
                    f"vendor {NVIDIA} excludes deviceType vfio-pci: its functions stay on mlx5_core, also for DPDK"
                )
        return self

    @model_validator(mode="after")
    def _mode_fits(self) -> Self:
        infiniband = (self.link_type or "eth").lower() == "ib"
        if self.e_switch_mode == "switchdev" and infiniband:
            raise ValueError("eSwitchMode switchdev works only on Ethernet: linkType must not be ib")
        if self.nic_selector.net_filter is not None and (self.e_switch_mode is not None or infiniband):
            raise ValueError("netFilter works only on Ethernet and without eSwitchMode")
        if self.vdpa_type is not None:
            if self.device_type == "vfio-pci" or self.e_switch_mode != "switchdev":
                raise ValueError("vdpaType needs deviceType netdevice and eSwitchMode switchdev")
            if self.is_rdma:
                raise ValueError("isRdma excludes vdpaType: a vDPA device has no RDMA device")
        return self


class SriovNetworkNodePolicy(KubernetesObject, api_version=_API_VERSION):
    """One resource of virtual functions; two policies for one node must not name one physical function twice."""

    spec: SriovNetworkNodePolicySpec


class SriovNetworkPoolConfigSpec(KubernetesModel):
    """How the operator treats the selected nodes; a change of `rdma_mode` reboots them.

    Without `max_unavailable` the operator drains all of the pool's nodes at once; a percentage rounds down.
    """

    node_selector: LabelSelector | None = None
    max_unavailable: NumberOrPercent | None = None
    rdma_mode: RdmaMode | None = None


class SriovNetworkPoolConfig(KubernetesObject, api_version=_API_VERSION):
    """A set of nodes; one that two of these select is never drained."""

    spec: SriovNetworkPoolConfigSpec


class NetworkSpec(KubernetesModel):
    """Fields of both kinds of network, from which the operator creates a NetworkAttachmentDefinition.

    `network_namespace` is the definition's namespace; without it, the object's own.
    """

    resource_name: ResourceName
    network_namespace: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    link_state: LinkState | None = None
    capabilities: CapabilitiesText | None = None
    ipam: IpamText | None = None
    meta_plugins: MetaPluginsText | None = None


class SriovNetworkSpec(NetworkSpec):
    """An Ethernet network over the virtual functions of a resource."""

    spoof_chk: OnOff | None = None
    trust: OnOff | None = None
    vlan: int | None = Field(default=None, ge=0, le=4094)
    vlan_qos: int | None = Field(default=None, ge=0, le=7)


class SriovNetwork(KubernetesObject, api_version=_API_VERSION):
    """An Ethernet network. The operator makes a NetworkAttachmentDefinition of the same name, which pods name."""

    spec: SriovNetworkSpec


class SriovIBNetwork(KubernetesObject, api_version=_API_VERSION):
    """An InfiniBand network that pods name like its NetworkAttachmentDefinition; it knows no partition key."""

    spec: NetworkSpec
