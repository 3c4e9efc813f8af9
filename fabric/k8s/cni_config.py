"""Typed CNI plug-in chains for NetworkAttachmentDefinitions, with one deterministic JSON form."""

from typing import Annotated, Literal

from pydantic import Field, field_serializer

from fabric.k8s.base import KubernetesModel, compact_json

OnOff = Literal["on", "off"]


class NvIpam(KubernetesModel):
    """Addresses from a pool of NVIDIA's IPAM; one pool name, or two with a comma for dual stack."""

    type: Literal["nv-ipam"] = "nv-ipam"
    pool_name: str = Field(min_length=1)
    pool_type: Literal["ippool", "cidrpool"] | None = None


class SriovPlugin(KubernetesModel):
    """Moves a virtual function into the pod; Multus adds the device id at run time."""

    type: Literal["sriov"] = "sriov"
    ipam: NvIpam | None = None
    spoofchk: OnOff | None = None
    trust: OnOff | None = None
    # sriov-cni spells these keys with underscores or odd capitals, against the CNI habit.
    link_state: Literal["auto", "enable", "disable"] | None = Field(
        default=None, validation_alias="link_state", serialization_alias="link_state"
    )
    vlan: int | None = Field(default=None, ge=0, le=4094)
    vlan_qos: int | None = Field(default=None, ge=0, le=7, validation_alias="vlanQoS", serialization_alias="vlanQoS")


class TuningPlugin(KubernetesModel):
    """Sysctls and the MTU (bytes) of the interface that the plug-in before it made."""

    type: Literal["tuning"] = "tuning"
    sysctl: dict[str, str] | None = None
    mtu: int | None = Field(default=None, ge=1280, le=9216)

    @field_serializer("sysctl")
    def _sorted(self, value: dict[str, str] | None) -> dict[str, str] | None:
        return dict(sorted(value.items())) if value is not None else None


class RdmaPlugin(KubernetesModel):
    """Moves the RDMA device with its interface; needs the node in RDMA mode `exclusive`."""

    type: Literal["rdma"] = "rdma"


class SbrPlugin(KubernetesModel):
    """Source-based routing: replies leave through the interface whose address was asked."""

    type: Literal["sbr"] = "sbr"


CniPlugin = Annotated[SriovPlugin | TuningPlugin | RdmaPlugin | SbrPlugin, Field(discriminator="type")]


class CniChain(KubernetesModel):
    """A CNI configuration list; plug-ins run in the given order on add and in reverse on delete."""

    cni_version: Literal["0.3.1", "0.4.0", "1.0.0", "1.1.0"] = "0.3.1"
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    plugins: tuple[CniPlugin, ...] = Field(min_length=1)

    def to_json(self) -> str:
        """The text for `spec.config` of a NetworkAttachmentDefinition."""
        return compact_json(self.to_dict())
