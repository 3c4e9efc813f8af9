"""Typed CNI configurations for NetworkAttachmentDefinitions, with one deterministic JSON form."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_serializer, model_validator

from fabric.k8s.base import KubernetesModel, compact_json
from fabric.k8s.device_plugin import PciAddress
from fabric.k8s.names import InterfaceName
from fabric.k8s.whereabouts import Whereabouts

OnOff = Literal["on", "off"]
LinkState = Literal["auto", "enable", "disable"]
CniVersion = Literal["0.3.1", "0.4.0", "1.0.0", "1.1.0"]
Mtu = Annotated[int, Field(ge=1280, le=9216)]

_PKEY = re.compile(r"0x[0-9][0-9a-fA-F]{0,4}")


def _pkey(value: str) -> str:
    # The pattern and the 15 bits are those of ib-kubernetes, the key's only reader.
    if not _PKEY.fullmatch(value) or int(value, 16) > 0x7FFF:
        raise ValueError(
            f"{value!r} is not a partition key: write hex text from 0x0 to 0x7fff with a digit after the x, "
            "for example 0x1 or 0x0abc"
        )
    return value


PartitionKey = Annotated[str, AfterValidator(_pkey)]
"""An InfiniBand partition key as text."""


class NvIpam(KubernetesModel):
    """Addresses from a pool of NVIDIA's IPAM; one pool name, or two with a comma for dual stack."""

    type: Literal["nv-ipam"] = "nv-ipam"
    pool_name: str = Field(min_length=1)
    pool_type: Literal["ippool", "cidrpool"] | None = None


Ipam = Annotated[NvIpam | Whereabouts, Field(discriminator="type")]


class SriovPlugin(KubernetesModel):
    """Moves a virtual function into the pod; Multus adds the device id at run time."""

    type: Literal["sriov"] = "sriov"
    ipam: Ipam | None = None
    spoofchk: OnOff | None = None
    trust: OnOff | None = None
    # sriov-cni spells these keys with underscores or odd capitals, against the CNI habit.
    link_state: LinkState | None = Field(default=None, validation_alias="link_state", serialization_alias="link_state")
    vlan: int | None = Field(default=None, ge=0, le=4094)
    vlan_qos: int | None = Field(default=None, ge=0, le=7, validation_alias="vlanQoS", serialization_alias="vlanQoS")


class IbSriovPlugin(KubernetesModel):
    """Moves an InfiniBand virtual function into the pod; with ib-kubernetes it waits for the GUID's partition."""

    type: Literal["ib-sriov"] = "ib-sriov"
    ipam: Ipam | None = None
    pkey: PartitionKey | None = None
    link_state: LinkState | None = Field(default=None, validation_alias="link_state", serialization_alias="link_state")
    rdma_isolation: bool | None = None
    ib_kubernetes_enabled: bool | None = None


class MacvlanPlugin(KubernetesModel):
    """A sub-interface of an Ethernet NIC that stays with the host; InfiniBand interfaces refuse it."""

    type: Literal["macvlan"] = "macvlan"
    ipam: Ipam | None = None
    master: InterfaceName
    mode: Literal["bridge"] = "bridge"
    mtu: Mtu | None = None


class IpoibPlugin(KubernetesModel):
    """A sub-interface of an InfiniBand NIC for TCP/IP."""

    type: Literal["ipoib"] = "ipoib"
    ipam: Ipam | None = None
    master: InterfaceName


class HostDevicePlugin(KubernetesModel):
    """Moves a whole NIC into the pod, which loses the addresses it had on the host.

    Named by interface or PCI address; with neither, a device plug-in's resource names it through Multus.
    """

    type: Literal["host-device"] = "host-device"
    ipam: Ipam | None = None
    device: InterfaceName | None = None
    pci_bus_id: PciAddress | None = None

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if self.device is not None and self.pci_bus_id is not None:
            raise ValueError("host-device takes device or pciBusID, not both")
        return self


class IpPreservingHostDevicePlugin(KubernetesModel):
    """DigitalOcean's host-device for routed rails: the NIC keeps the addresses and routes that the host gave it.

    An IPAM of its own would replace what it is there to keep, so it has none.
    """

    type: Literal["ip-preserving-host-device"] = "ip-preserving-host-device"
    device: InterfaceName


class TuningPlugin(KubernetesModel):
    """Sysctls and the MTU (bytes) of the interface that the plug-in before it made."""

    type: Literal["tuning"] = "tuning"
    sysctl: dict[str, str] | None = None
    mtu: Mtu | None = None

    @field_serializer("sysctl")
    def _sorted(self, value: dict[str, str] | None) -> dict[str, str] | None:
        return dict(sorted(value.items())) if value is not None else None


class RdmaPlugin(KubernetesModel):
    """Moves the RDMA device with its interface; needs the node in RDMA mode `exclusive`."""

    type: Literal["rdma"] = "rdma"


class SbrPlugin(KubernetesModel):
    """Source-based routing: replies leave through the interface whose address was asked."""

    type: Literal["sbr"] = "sbr"


InterfacePlugin = (
    SriovPlugin | IbSriovPlugin | MacvlanPlugin | IpoibPlugin | HostDevicePlugin | IpPreservingHostDevicePlugin
)
"""A plug-in that brings an interface into the pod."""

ChainedPlugin = TuningPlugin | RdmaPlugin | SbrPlugin
"""A plug-in that works on the interface of the one before it."""

CniPlugin = Annotated[InterfacePlugin | ChainedPlugin, Field(discriminator="type")]


class CniChain(KubernetesModel):
    """A CNI configuration list; plug-ins run in the given order on add and in reverse on delete."""

    cni_version: CniVersion = "0.3.1"
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    plugins: tuple[CniPlugin, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _starts_with_an_interface(self) -> Self:
        first, *rest = self.plugins
        if isinstance(first, ChainedPlugin):
            raise ValueError(f"{first.type} cannot come first: it works on the interface of the plug-in before it")
        for plugin in rest:
            if not isinstance(plugin, ChainedPlugin):
                raise ValueError(f"{plugin.type} must come first and alone: a chain makes one interface")
        return self

    def to_json(self) -> str:
        """The text for `spec.config` of a NetworkAttachmentDefinition."""
        return compact_json(self.to_dict())


class SingleCni(KubernetesModel):
    """One plug-in without a list, in the form of the DOKS guide: its keys stand beside `cniVersion`.

    Multus names a configuration without a name after its NetworkAttachmentDefinition.
    """

    cni_version: CniVersion = "0.3.1"
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    plugin: InterfacePlugin = Field(discriminator="type")

    def to_json(self) -> str:
        """The text for `spec.config` of a NetworkAttachmentDefinition."""
        frame = self.to_dict()
        return compact_json(frame | frame.pop("plugin"))
