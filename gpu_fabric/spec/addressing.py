"""`gpu-fabric:fabric.addressing`: the fabric's address space and its division."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.network_types import Network, Span

Layout = Literal["none", "flat", "per-rail", "per-node"]
Ipam = Literal["nv-ipam", "whereabouts", "spiderpool", "host"]


class AddressingSpec(FrozenModel):
    """The fabric's address space and its division.

    No key depends on the number of nodes or rails, so growth does not change addresses in use.
    """

    layout: Layout | None = Field(
        default=None,
        description="`none`: no addresses; `flat`: one pool for all rails; `per-rail`: a subnet, pool and network "
        "each; `per-node`: a prefix of its own for every node and rail; by default what the manager and model ask for",
    )
    supernet: Network | None = Field(
        default=None, description="the range all fabric addresses come from, IPv4 or IPv6; required but for `none`"
    )
    ipam: Ipam | None = Field(
        default=None,
        description="what assigns the addresses; `host`: the provider, on the host; by default the manager's",
    )
    rail_slots: int = Field(
        default=16,
        ge=1,
        le=64,
        description="parts the supernet is cut into without prefixLength, one a rail, and fixed: more rails move none; "
        "layout `flat`: rails that a node's share has room for",
    )
    first_rail_slot: int = Field(
        default=0,
        ge=0,
        le=4095,
        description="number of the part that rail 0 gets; 172.16.0.0/16 with prefixLength 24 begins with "
        "172.16.11.0/24 where this is 11",
    )
    prefix_length: int | None = Field(
        default=None, ge=1, le=127, description="prefix length of each rail's subnet; by default that of one rail slot"
    )
    node_prefix_length: int | None = Field(
        default=None,
        ge=1,
        le=128,
        description="layout `per-node`: prefix length of each node's share of a rail; by default the longest that fits",
    )
    addresses_per_node: int | None = Field(
        default=None,
        ge=1,
        description="addresses each node gets from a pool; by default one per pod that a NIC can serve, "
        "plus one for a gateway",
    )
    gateway: Literal["none", "first", "last"] = Field(
        default="none", description="which host address of each subnet (`per-node`: of each node's prefix) is a router"
    )
    reserved_first: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="addresses to leave free at the start of each rail's range (`per-node`: of each node's prefix)",
    )
    reserved_last: int = Field(default=0, ge=0, le=65535, description="addresses to leave free at the end of the same")
    exclude: tuple[Span, ...] = Field(
        default=(), description="addresses that hosts or switches hold: an address, a range first-last, or a network"
    )
    spare_nodes: int = Field(
        default=0, ge=0, le=65536, description="nodes to keep addresses for beyond the pools' own (repairs, growth)"
    )
    surge_nodes: int = Field(
        default=0, ge=0, le=65536, description="nodes that may exist besides while others are replaced (upgrades)"
    )
    growth_step: int = Field(
        default=1, ge=1, le=8192, description="nodes that are added at a time; the proof says how many more steps fit"
    )
