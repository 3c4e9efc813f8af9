"""nv-ipam.nvidia.com/v1alpha1: address pools, cut into one share per node.

Both kinds are honoured only in the Network Operator's own namespace.
"""

import ipaddress
from collections.abc import Iterable
from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import Address, Cidr, Network, usable_hosts
from gpu_fabric.k8s.scheduling import NodeSelector

_API_VERSION = "nv-ipam.nvidia.com/v1alpha1"

_INT32_MAX = 2**31 - 1


class ExcludedRange(KubernetesModel):
    """Addresses that are never assigned, both ends included."""

    start_ip: Address
    end_ip: Address

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        start, end = ipaddress.ip_address(self.start_ip), ipaddress.ip_address(self.end_ip)
        if start.version != end.version:
            raise ValueError(f"exclusion {self.start_ip}-{self.end_ip}: both ends must be of one address family")
        if int(start) > int(end):
            raise ValueError(f"exclusion {self.start_ip}-{self.end_ip}: the start must not be after the end")
        return self


class ExcludedIndexes(KubernetesModel):
    """Positions in every node's share that are never assigned, both ends included."""

    start_index: int = Field(ge=0, le=_INT32_MAX)
    end_index: int = Field(ge=0, le=_INT32_MAX)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start_index > self.end_index:
            raise ValueError(f"per-node exclusion {self.start_index}-{self.end_index}: start is after end")
        return self


class Route(KubernetesModel):
    """A destination reached through the pool's gateway."""

    dst: Cidr


def _check_apart(runs: Iterable[tuple[str, int, int]]) -> None:
    """Refuse overlapping ranges: API server and controller accept them, and then no node assigns an address."""
    for (name, _, end), (other, start, _) in pairwise(sorted(runs, key=lambda run: run[1:])):
        if start <= end:
            raise ValueError(f"exclusions {name} and {other} overlap, and nv-ipam then assigns no address: merge them")


def _check_common(spec: "IPPoolSpec | CIDRPoolSpec", network: Network, share: int, gateway: tuple[str, object]) -> None:
    """Checks of both kinds of pool; `share` counts a node's addresses, `gateway` is the field's name and value."""
    for exclusion in spec.exclusions or ():
        for end in (exclusion.start_ip, exclusion.end_ip):
            if ipaddress.ip_address(end) not in network:
                raise ValueError(f"exclusion address {end} is outside {network}")
    _check_apart(
        (f"{row.start_ip}-{row.end_ip}", int(ipaddress.ip_address(row.start_ip)), int(ipaddress.ip_address(row.end_ip)))
        for row in spec.exclusions or ()
    )
    _check_apart(
        (f"places {row.start_index}-{row.end_index}", row.start_index, row.end_index)
        for row in spec.per_node_exclusions or ()
    )
    for indexes in spec.per_node_exclusions or ():
        if indexes.end_index >= share:
            raise ValueError(
                f"per-node exclusion {indexes.start_index}-{indexes.end_index} is outside a node's share: "
                f"allowed 0-{share - 1}"
            )
    if gateway[1] is None and (spec.routes or spec.default_gateway):
        raise ValueError(f"routes and defaultGateway need a {gateway[0]}")
    for route in spec.routes or ():
        destination = ipaddress.ip_network(route.dst)
        if destination.version != network.version:
            raise ValueError(f"route {route.dst} is not of the address family of {network}")
        if destination.prefixlen == 0 and spec.default_gateway:
            raise ValueError(f"route {route.dst} and defaultGateway say the same: leave one out")


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
        hosts = usable_hosts(network)
        if self.per_node_block_size > hosts:
            raise ValueError(
                f"perNodeBlockSize {self.per_node_block_size} exceeds the {hosts} hosts of {network}: allowed 1-{hosts}"
            )
        if self.gateway is not None and ipaddress.ip_address(self.gateway) not in network:
            raise ValueError(f"gateway {self.gateway} is outside {network}")
        _check_common(self, network, self.per_node_block_size, ("gateway", self.gateway))
        return self


class IPPool(KubernetesObject, api_version=_API_VERSION):
    """A subnet shared by all nodes."""

    spec: IPPoolSpec


class StaticAllocation(KubernetesModel):
    """A prefix fixed for a node, or reserved when no node is named."""

    prefix: Cidr
    node_name: str | None = None
    gateway: Address | None = None


class CIDRPoolSpec(KubernetesModel):
    """A supernet, of which every node gets a whole prefix of length `per_node_network_prefix`.

    `gateway_index` counts in every node's prefix; 0 is allowed only in prefixes of one or two addresses.
    """

    cidr: Cidr
    per_node_network_prefix: int = Field(ge=1, le=128)
    gateway_index: int | None = Field(default=None, ge=0, le=_INT32_MAX)
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
        share = ipaddress.ip_network((network.network_address, prefix))
        if self.gateway_index is not None:
            self._check_gateway(self.gateway_index, share)
        _check_common(self, network, share.num_addresses, ("gatewayIndex", self.gateway_index))
        self._check_static(network)
        return self

    @staticmethod
    def _check_gateway(index: int, share: Network) -> None:
        point_to_point = share.num_addresses <= 2
        lowest, highest = (0, share.num_addresses - 1) if point_to_point else (1, usable_hosts(share))
        if index == 0 and not point_to_point:
            raise ValueError(
                "gatewayIndex 0 is the network address: only node prefixes of one or two addresses allow it"
            )
        if index > highest:
            raise ValueError(f"gatewayIndex {index} is outside a node's prefix: allowed {lowest}-{highest}")

    def _check_static(self, network: Network) -> None:
        prefixes: set[Network] = set()
        nodes: set[str] = set()
        for allocation in self.static_allocations or ():
            share = ipaddress.ip_network(allocation.prefix)
            if share.network_address not in network or share.broadcast_address not in network:
                raise ValueError(f"static allocation {share} is outside {network}")
            if share.prefixlen != self.per_node_network_prefix:
                raise ValueError(f"static allocation {share} must have prefix length {self.per_node_network_prefix}")
            if allocation.gateway is not None and ipaddress.ip_address(allocation.gateway) not in share:
                raise ValueError(f"static allocation {share}: gateway {allocation.gateway} is outside it")
            if share in prefixes or allocation.node_name in nodes:
                raise ValueError(f"static allocation {share} repeats a prefix or a node")
            prefixes.add(share)
            if allocation.node_name is not None:
                nodes.add(allocation.node_name)


class CIDRPool(KubernetesObject, api_version=_API_VERSION):
    """A subnet of its own for every node."""

    spec: CIDRPoolSpec
