"""k8s.cni.cncf.io/v1: NetworkAttachmentDefinitions, and their CNI configurations as types and as text.

The SR-IOV operator inserts these texts between single quotes into a NetworkAttachmentDefinition.
"""

import json
import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpu_fabric.k8s.apiextensions import CustomResourceDefinition, define_kind
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject, compact_json
from gpu_fabric.k8s.device_plugin import PciAddress
from gpu_fabric.k8s.field_types import InterfaceName, SortedTexts
from gpu_fabric.k8s.whereabouts import Whereabouts


class NetworkAttachmentDefinitionSpec(KubernetesModel):
    """`config` is a CNI configuration as JSON text."""

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


class NetworkAttachmentDefinition(
    KubernetesObject, api_version="k8s.cni.cncf.io/v1", plural="network-attachment-definitions"
):
    """A secondary network that pods of its namespace may name."""

    spec: NetworkAttachmentDefinitionSpec


def network_kind_definition() -> CustomResourceDefinition:
    """The definition of that kind, which other software writes as well: types are checked, and no field is required."""
    text = {"type": "string"}
    config = {"description": "CNI configuration as JSON text.", **text}
    spec = {"description": NetworkAttachmentDefinitionSpec.__doc__, "type": "object", "properties": {"config": config}}
    schema = {
        "description": NetworkAttachmentDefinition.__doc__,
        "type": "object",
        "properties": {"apiVersion": text, "kind": text, "metadata": {"type": "object"}, "spec": spec},
    }
    name, kind = "network-attachment-definition", NetworkAttachmentDefinition
    return define_kind(name, kind.api_version, kind.kind, schema, short_names=("net-attach-def",))


OnOff = Literal["on", "off"]
LinkState = Literal["auto", "enable", "disable"]
CniVersion = Literal["0.3.1", "0.4.0", "1.0.0", "1.1.0"]
Mtu = Annotated[int, Field(ge=1280, le=9216)]

_PKEY = re.compile(r"0x[0-9][0-9a-fA-F]{0,4}")


def _pkey(value: str) -> str:
    # The pattern and the 15 bits are from ib-kubernetes, the only program that reads the key.
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
    # sriov-cni spells this key with an underscore, against the CNI habit.
    link_state: LinkState | None = Field(default=None, validation_alias="link_state", serialization_alias="link_state")
    vlan: int | None = Field(default=None, ge=0, le=4094)
    vlan_qos: int | None = Field(default=None, ge=0, le=7)


class IbSriovPlugin(KubernetesModel):
    """Moves an InfiniBand virtual function into the pod; with ib-kubernetes it waits for the GUID's partition."""

    type: Literal["ib-sriov"] = "ib-sriov"
    ipam: Ipam | None = None
    pkey: PartitionKey | None = None
    link_state: LinkState | None = Field(default=None, validation_alias="link_state", serialization_alias="link_state")
    rdma_isolation: bool | None = None
    ib_kubernetes_enabled: bool | None = None


class MacvlanPlugin(KubernetesModel):
    """A sub-interface of an Ethernet NIC, which is not moved from the host; InfiniBand interfaces do not support it."""

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
    """DigitalOcean's host-device for routed rails: the NIC keeps the addresses and routes of the host.

    It has no IPAM, which would replace these addresses.
    """

    type: Literal["ip-preserving-host-device"] = "ip-preserving-host-device"
    device: InterfaceName


class AmdHostDevicePlugin(KubernetesModel):
    """AMD's host-device: the NIC that the device plug-in has given moves with the addresses that it has on the host.

    It has no IPAM, which would replace these addresses (ROCm/network-operator v1.2.0, cni/plugins/amd-host-device).
    """

    type: Literal["amd-host-device"] = "amd-host-device"


class TuningPlugin(KubernetesModel):
    """Sysctls and the MTU (bytes) of the interface that the preceding plug-in created."""

    type: Literal["tuning"] = "tuning"
    sysctl: SortedTexts | None = None
    mtu: Mtu | None = None


class RdmaPlugin(KubernetesModel):
    """Moves the RDMA device with its interface; needs the node in RDMA mode `exclusive`."""

    type: Literal["rdma"] = "rdma"


class SbrPlugin(KubernetesModel):
    """Source-based routing: replies are sent through the interface that received the request."""

    type: Literal["sbr"] = "sbr"


InterfacePlugin = (
    SriovPlugin
    | IbSriovPlugin
    | MacvlanPlugin
    | IpoibPlugin
    | HostDevicePlugin
    | IpPreservingHostDevicePlugin
    | AmdHostDevicePlugin
)
"""A plug-in that adds an interface to the pod."""

ChainedPlugin = TuningPlugin | RdmaPlugin | SbrPlugin
"""A plug-in that configures the interface of the preceding plug-in."""

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
                raise ValueError(f"{plugin.type} must come first and alone: a chain creates one interface")
        return self

    def to_json(self) -> str:
        """The text for `spec.config` of a NetworkAttachmentDefinition."""
        return compact_json(self.to_dict())


class SingleCni(KubernetesModel):
    """One plug-in without a list, in the form of the DOKS guide: its keys are next to `cniVersion`.

    Multus names a configuration without a name after its NetworkAttachmentDefinition.
    """

    cni_version: CniVersion = "0.3.1"
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    plugin: InterfacePlugin = Field(discriminator="type")

    def to_json(self) -> str:
        """The text for `spec.config` of a NetworkAttachmentDefinition."""
        frame = self.to_dict()
        return compact_json(frame | frame.pop("plugin"))


def ipam_text(ipam: Ipam) -> str:
    """The text of an IPAM section."""
    return compact_json(ipam.to_dict())


def meta_plugins_text(plugins: Iterable[ChainedPlugin]) -> str:
    """The text of the plug-ins that work on the interface, in their order."""
    return ",".join(compact_json(plugin.to_dict()) for plugin in plugins)


def _json(field: str, text: str, form: str) -> object:
    if "'" in text:
        raise ValueError(f"{field} {text!r} holds a single quote, which would end the text that the operator writes")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{field} {text!r} is not {form}: {error}") from None


def _has_type(section: object) -> bool:
    return isinstance(section, dict) and isinstance(section.get("type"), str) and bool(section["type"].strip())


def _ipam(text: str) -> str:
    section = _json("ipam", text, "a JSON object")
    if not _has_type(section):
        raise ValueError(f"ipam {text!r} is not a JSON object with the name of a plug-in as its type")
    if json.loads("".join(text.split())) != section:
        raise ValueError(f"ipam {text!r} has a space inside a value: the operator takes all spaces out")
    return text


def _meta_plugins(text: str) -> str:
    if text.lstrip().startswith("["):
        raise ValueError(f"metaPlugins {text!r} is a JSON list: write the objects with commas and without brackets")
    plugins = _json("metaPlugins", text and f"[{text}]", "a list of JSON objects with commas")
    if not isinstance(plugins, list) or not plugins or not all(_has_type(plugin) for plugin in plugins):
        raise ValueError(f"metaPlugins {text!r}: every plug-in is a JSON object with its name as type")
    return text


def _capabilities(text: str) -> str:
    section = _json("capabilities", text, "a JSON object")
    if not isinstance(section, dict) or not all(isinstance(value, bool) for value in section.values()):
        raise ValueError(f"capabilities {text!r} is not a JSON object of true and false")
    return text


IpamText = Annotated[str, AfterValidator(_ipam)]
"""A JSON object, for example of `ipam_text`."""

MetaPluginsText = Annotated[str, AfterValidator(_meta_plugins)]
"""JSON objects with commas between them, for example of `meta_plugins_text`."""

CapabilitiesText = Annotated[str, AfterValidator(_capabilities)]
"""A JSON object of flags, for example `{"ips":true}`."""
