"""`gpu-fabric:fabric`: how NICs get into pods, and which addresses they hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, field_validator

from fabric.catalog.shape import InterfaceName, LinkType, PciAddress
from fabric.model import FrozenModel
from fabric.spec.addressing import Addressing
from fabric.spec.cluster import DnsLabel
from fabric.spec.host_preparation import FabricCheck, HostPreparation
from fabric.spec.nccl import Nccl

Model = Literal["host-device", "macvlan", "sriov", "ib-sriov", "ipoib", "host-network"]
Manager = Literal["doks", "network-operator", "spiderpool"]
RdmaMode = Literal["shared", "exclusive"]
VirtualFunctions = Literal["node-image", "daemon-set", "sriov-operator", "externally-managed"]
NetworkReference = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"),
]
Quantity = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*(Mi|Gi)$")]


class RailOverride(FrozenModel):
    """What differs on one rail from what the shape says, or what the shape does not say."""

    rail: int = Field(ge=0, le=63, description="number of the rail, from 0")
    pci: PciAddress | None = Field(default=None, description="PCI address of the NIC")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")
    rdma_device: str | None = Field(default=None, min_length=1, description="RDMA device on the host")
    nearest_gpu: int | None = Field(default=None, ge=0, description="number of the nearest GPU")
    network: DnsLabel | None = Field(default=None, description="name of the rail's network and pool")
    resource: str | None = Field(default=None, min_length=1, description="name of the rail's resource, without prefix")


class Dpdk(FrozenModel):
    """What a DPDK pod holds beside its NICs; processors and memory are whole, so that the pod gets them alone."""

    huge_pages: Quantity = Field(description="memory in huge pages, such as 4Gi")
    page_size: Literal["2Mi", "1Gi"] = Field(default="1Gi", description="size of the pages that the nodes reserve")
    cpus: int = Field(ge=1, description="processors of the container, which a static CPU manager gives it alone")
    memory: Quantity = Field(description="ordinary memory of the container, such as 8Gi")


class OfferedNamespace(FrozenModel):
    """A namespace in which jobs can attach to the fabric; `create` makes it part of the stack."""

    name: DnsLabel = Field(description="name of the namespace")
    create: bool = Field(default=False, description="whether the stack makes the namespace, and deletes it on destroy")


def _name_alone(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


NamespaceEntry = Annotated[
    OfferedNamespace, BeforeValidator(_name_alone, json_schema_input_type=str | OfferedNamespace)
]


class Fabric(FrozenModel):
    """The RDMA fabric as pods see it."""

    model: Model | None = Field(
        default=None, description="how a NIC gets into a pod; by default `sriov`, on DOKS `host-device`"
    )
    manager: Manager | None = Field(
        default=None,
        description="who installs and drives the fabric software; by default `network-operator`, on DOKS `doks`",
    )
    rdma_mode: RdmaMode | None = Field(
        default=None,
        description="RDMA network-namespace mode that the nodes run in; `exclusive` moves the RDMA device into the "
        "pod; by default the one that the model needs",
    )
    link_type: LinkType | None = Field(
        default=None, description="link layer of the RDMA NICs; by default the shape's own"
    )
    mtu: int | None = Field(default=None, ge=1280, le=9216, description="bytes; by default the shape's own")
    vfs_per_nic: int | None = Field(
        default=None, ge=0, le=128, description="virtual functions per NIC; by default the shape's own"
    )
    virtual_functions: VirtualFunctions | None = Field(
        default=None,
        description="who makes virtual functions: `node-image`; `daemon-set`, one of this stack; `sriov-operator`, "
        "which advertises them too; `externally-managed`, where the cloud makes them and the SR-IOV operator does the "
        "rest; by default `node-image`",
    )
    dpdk: Dpdk | None = Field(
        default=None, description="for pods that drive the NICs from user space: huge pages, processors and memory"
    )
    pods_per_nic: int = Field(
        default=1, ge=1, le=1000, description="pods that share one NIC, in models that share it (macvlan, ipoib)"
    )
    pkey: Annotated[str, StringConstraints(pattern=r"^0x([0-9][0-9a-fA-F]{0,2}|[0-7][0-9a-fA-F]{3})$")] | None = Field(
        default=None, description="InfiniBand partition key, 0x0 to 0x7fff, with a digit after the x"
    )
    rails: tuple[RailOverride, ...] = Field(default=(), description="what differs on single rails from the shape")
    addressing: Addressing = Addressing()
    default_network: NetworkReference | None = Field(
        default=None,
        description="network of the pods' own first interface, as namespace/name; by default the cluster's default",
    )
    host_preparation: HostPreparation = HostPreparation()
    nccl: Nccl = Nccl()
    check: FabricCheck | None = Field(
        default=None, description="a DaemonSet that is attached to all rails and checks each; `{}` for its defaults"
    )
    namespaces: tuple[NamespaceEntry, ...] = Field(
        default=(OfferedNamespace(name="default"),),
        min_length=1,
        description="where networks are offered: names of namespaces that exist, or {name, create: true} for new ones",
    )

    @field_validator("namespaces")
    @classmethod
    def _each_namespace_once(cls, value: tuple[OfferedNamespace, ...]) -> tuple[OfferedNamespace, ...]:
        names = [entry.name for entry in value]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(repeated)} is listed twice; list each namespace once")
        return value

    @field_validator("rails")
    @classmethod
    def _each_rail_once(cls, value: tuple[RailOverride, ...]) -> tuple[RailOverride, ...]:
        numbers = [entry.rail for entry in value]
        if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"rail {', '.join(map(str, repeated))} is listed twice; list each rail once")
        return value
