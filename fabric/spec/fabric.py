"""`gpu-fabric:fabric`: how NICs get into pods, and which addresses they hold."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from fabric.model import FrozenModel
from fabric.spec.cluster import DnsLabel


class Addressing(FrozenModel):
    """The fabric's address space and how it is cut."""

    layout: Literal["flat", "per-rail"] = Field(
        default="per-rail", description="`flat`: one pool for all rails; `per-rail`: a subnet, pool and network each"
    )
    supernet: IPv4Network = Field(description="the range all fabric addresses come from")
    prefix_length: int | None = Field(
        default=None,
        ge=8,
        le=30,
        description="prefix length of each rail's subnet; by default the supernet cut into equal parts, one a rail",
    )
    addresses_per_node: int | None = Field(
        default=None,
        ge=1,
        description="addresses each node gets from a pool; by default one per virtual function, plus one for a gateway",
    )
    gateway: Literal["none", "first", "last"] = Field(
        default="none", description="which host address of each subnet is a router; `none` on a plain layer-2 rail"
    )
    spare_nodes: int = Field(
        default=0, ge=0, description="nodes to keep addresses for beyond the pools' own (repairs, surge, growth)"
    )


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

    model: Literal["sriov"] = Field(default="sriov", description="how a NIC gets into a pod")
    manager: Literal["network-operator"] = Field(
        default="network-operator", description="who installs and drives the fabric software"
    )
    rdma_mode: Literal["shared", "exclusive"] = Field(
        default="exclusive",
        description="RDMA network-namespace mode that the nodes run in; `exclusive` moves the RDMA device into the pod",
    )
    mtu: int | None = Field(default=None, ge=1280, le=9600, description="bytes; by default the shape's own")
    addressing: Addressing
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
