"""The network of a cluster that Oracle runs, and the ways in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from fabric.catalog.oke_cluster import SubnetName
from fabric.model import FrozenModel
from fabric.spec.network_types import Network
from fabric.spec.oke_ids import ImageId, RouteTableId, SubnetId, VcnId

SshPublicKey = Annotated[
    str, StringConstraints(pattern=r"^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+=*( \S.*)?$")
]


class RouteTables(FrozenModel):
    """Route tables of a VCN that exists, for subnets that the stack makes in it."""

    private: RouteTableId | None = Field(
        default=None, description="for subnets without public addresses: to the NAT and service gateways"
    )
    public: RouteTableId | None = Field(
        default=None, description="for subnets with public addresses: to the internet gateway"
    )


class Vcn(FrozenModel):
    """The network: a new one of the range `ranges.nodes`, or one that exists by its ids."""

    id: VcnId | None = Field(default=None, description="id of a VCN that exists, and stays on destroy")
    subnets: dict[SubnetName, Network] = Field(
        default={}, description="ranges of subnets, where they differ from the published plan"
    )
    subnet_ids: dict[SubnetName, SubnetId] = Field(
        default={}, description="ids of subnets that exist, and stay on destroy, by what they are for"
    )
    route_table_ids: RouteTables = RouteTables()
    internet: bool = Field(
        default=True, description="whether nodes and pods may reach the internet, through a NAT gateway"
    )
    public_load_balancers: bool = Field(
        default=False, description="whether Services may have public load balancers: a public subnet for them"
    )
    file_storage: bool = Field(
        default=False, description="whether nodes may mount file systems: a subnet, rules and policies for them"
    )


class ApiEndpoint(FrozenModel):
    """Who may reach the API server, which always has a private address."""

    public: bool = Field(default=False, description="whether it has a public address as well")
    allowed: tuple[Network, ...] = Field(default=(), description="ranges that may reach it from outside")


class AccessHost(FrozenModel):
    """A host that people come in by."""

    shape: str = Field(default="VM.Standard.E5.Flex", min_length=1, description="a CPU shape")
    ocpus: int = Field(default=1, ge=1, le=94, description="OCPUs of the host")
    memory_gib: int = Field(default=4, ge=1, le=1049, description="memory in GiB")
    boot_volume_gib: int = Field(default=50, ge=50, le=32768, description="size of the boot volume in GiB")
    image_id: ImageId | None = Field(
        default=None, description="id of the image; the operator host's holds kubectl, Helm and the OCI command line"
    )
    user: Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] = Field(
        default="opc", description="whom the image lets in by SSH: opc on Oracle Linux, ubuntu on Ubuntu"
    )


class Access(FrozenModel):
    """How people reach machines without public addresses."""

    mode: Literal["none", "bastion-host", "bastion-service"] = Field(
        default="none",
        description="`bastion-host`: a host with a public address, and behind it one that reaches the API server; "
        "`bastion-service`: Oracle's, which makes sessions on demand",
    )
    allowed: tuple[Network, ...] = Field(default=(), description="ranges from which people come")
    ssh_public_keys: tuple[SshPublicKey, ...] = Field(
        default=(), description="public keys of people, for the hosts and for GPU nodes that join by themselves"
    )
    bastion: AccessHost = AccessHost()
    operator: AccessHost = AccessHost(memory_gib=8)
    session_seconds: int = Field(
        default=10800, ge=1800, le=10800, description="how long a session of the Bastion service may last"
    )
