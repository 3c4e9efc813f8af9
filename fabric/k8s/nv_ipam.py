"""nv-ipam.nvidia.com/v1alpha1: address pools, cut into one share per node.

Both kinds are honoured only in the Network Operator's own namespace.
"""

import ipaddress
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.scheduling import NodeSelector

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _address(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address: write an IPv4 or IPv6 address without a prefix") from None
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not a network: {error}; write CIDR notation without host bits") from None
    return value


Address = Annotated[str, AfterValidator(_address)]
Cidr = Annotated[str, AfterValidator(_network)]


class ExcludedRange(KubernetesModel):
    """Addresses that are never handed out, both ends included."""

    start_ip: Address
    end_ip: Address

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        start, end = ipaddress.ip_address(self.start_ip), ipaddress.ip_address(self.end_ip)
        if start.version != end.version or int(start) > int(end):
            raise ValueError(f"exclusion {self.start_ip}-{self.end_ip}: the start must not lie after the end")
        return self


class ExcludedIndexes(KubernetesModel):
    """Positions in every node's share that are never handed out, both ends included."""

    start_index: int = Field(ge=0)
    end_index: int = Field(ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start_index > self.end_index:
            raise ValueError(f"per-node exclusion {self.start_index}-{self.end_index}: start lies after end")
        return self


class Route(KubernetesModel):
    """A destination reached through the pool's gateway."""

    dst: Cidr


def _check_inside(network: Network, exclusions: tuple[ExcludedRange, ...] | None) -> None:
    for exclusion in exclusions or ():
        for end in (exclusion.start_ip, exclusion.end_ip):
            if ipaddress.ip_address(end) not in network:
                raise ValueError(f"exclusion address {end} lies outside {network}")


class IPPoolSpec(KubernetesModel):
    """One shared subnet, of which every node gets `per_node_block_size` addresses."""

    subnet: Cidr
    per_node_block_size: int = Field(ge=1)
    gateway: Address | None = None
    exclusions: tuple[ExcludedRange, ...] | None = None
    per_node_exclusions: tuple[ExcludedIndexes, ...] | None = None
    routes: tuple[Route, ...] | None = None
    default_gateway: bool | None = None
    node_selector: NodeSelector | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        network = ipaddress.ip_network(self.subnet)
        hosts = max(network.num_addresses - 2, 1) if network.version == 4 else network.num_addresses - 1
        if self.per_node_block_size > hosts:
            raise ValueError(
                f"perNodeBlockSize {self.per_node_block_size} exceeds the {hosts} hosts of {network}: allowed 1-{hosts}"
            )
        if self.gateway is not None and ipaddress.ip_address(self.gateway) not in network:
            raise ValueError(f"gateway {self.gateway} lies outside {network}")
        if self.gateway is None and (self.routes or self.default_gateway):
            raise ValueError("routes and defaultGateway need a gateway")
        _check_inside(network, self.exclusions)
        return self


class IPPoolAllocation(KubernetesModel):
    """The block of one node."""

    node_name: str
    start_ip: str
    end_ip: str


class IPPoolStatus(KubernetesModel):
    """What the IPAM controller handed out."""

    allocations: tuple[IPPoolAllocation, ...]


class IPPool(KubernetesObject):
    """A subnet shared by all nodes."""

    api_version: ClassVar[str] = "nv-ipam.nvidia.com/v1alpha1"
    kind: ClassVar[str] = "IPPool"
    plural: ClassVar[str] = "ippools"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    printer_columns: ClassVar[dict[str, str]] = {"Subnet": ".spec.subnet", "Gateway": ".spec.gateway"}

    spec: IPPoolSpec
    status: IPPoolStatus | None = None


class StaticAllocation(KubernetesModel):
    """A prefix fixed for a node, or reserved when no node is named."""

    prefix: Cidr
    node_name: str | None = None
    gateway: Address | None = None


class CIDRPoolSpec(KubernetesModel):
    """A supernet, of which every node gets a whole prefix of length `per_node_network_prefix`."""

    cidr: Cidr
    per_node_network_prefix: int = Field(ge=1, le=128)
    gateway_index: int | None = Field(default=None, ge=0)
    exclusions: tuple[ExcludedRange, ...] | None = None
    per_node_exclusions: tuple[ExcludedIndexes, ...] | None = None
    static_allocations: tuple[StaticAllocation, ...] | None = None
    routes: tuple[Route, ...] | None = None
    default_gateway: bool | None = None
    node_selector: NodeSelector | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        network = ipaddress.ip_network(self.cidr)
        longest = network.max_prefixlen
        prefix = self.per_node_network_prefix
        if not network.prefixlen < prefix <= longest:
            raise ValueError(
                f"perNodeNetworkPrefix {prefix} does not divide {network}: allowed {network.prefixlen + 1}-{longest}"
            )
        if self.gateway_index is None and (self.routes or self.default_gateway):
            raise ValueError("routes and defaultGateway need a gatewayIndex")
        if self.gateway_index is not None:
            self._check_gateway(longest - prefix)
        _check_inside(network, self.exclusions)
        self._check_static(network)
        return self

    def _check_gateway(self, host_bits: int) -> None:
        index = self.gateway_index or 0
        if index >= 2**host_bits:
            raise ValueError(f"gatewayIndex {index} lies outside a node's prefix: allowed 0-{2**host_bits - 1}")
        if index == 0 and host_bits > 1:
            raise ValueError(
                "gatewayIndex 0 is the network address: only node prefixes of one or two addresses allow it"
            )

    def _check_static(self, network: Network) -> None:
        prefixes: set[str] = set()
        nodes: set[str] = set()
        for allocation in self.static_allocations or ():
            share = ipaddress.ip_network(allocation.prefix)
            if share.network_address not in network or share.broadcast_address not in network:
                raise ValueError(f"static allocation {share} lies outside {network}")
            if share.prefixlen != self.per_node_network_prefix:
                raise ValueError(f"static allocation {share} must have prefix length {self.per_node_network_prefix}")
            if allocation.gateway is not None and ipaddress.ip_address(allocation.gateway) not in share:
                raise ValueError(f"static allocation {share}: gateway {allocation.gateway} lies outside it")
            if allocation.prefix in prefixes or (allocation.node_name in nodes):
                raise ValueError(f"static allocation {share} repeats a prefix or a node")
            prefixes.add(allocation.prefix)
            if allocation.node_name is not None:
                nodes.add(allocation.node_name)


class CIDRPoolAllocation(KubernetesModel):
    """The prefix of one node."""

    node_name: str
    prefix: str
    gateway: str | None = None


class CIDRPoolStatus(KubernetesModel):
    """What the IPAM controller handed out."""

    allocations: tuple[CIDRPoolAllocation, ...]


class CIDRPool(KubernetesObject):
    """A subnet of its own for every node."""

    api_version: ClassVar[str] = "nv-ipam.nvidia.com/v1alpha1"
    kind: ClassVar[str] = "CIDRPool"
    plural: ClassVar[str] = "cidrpools"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    printer_columns: ClassVar[dict[str, str]] = {"CIDR": ".spec.cidr"}

    spec: CIDRPoolSpec
    status: CIDRPoolStatus | None = None
