"""What the addresses are for, and how the supernet is cut for it.

Where a rail's and a node's addresses lie depends on the stack file's `addressing` alone, never on how many nodes or
rails there are: rail r has the r-th part of the supernet, node n the n-th share of it. So growing moves nothing.
"""

from __future__ import annotations

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses.model import AddressPool, Division, address
from gpu_fabric.plan.addresses.space import AddressSpace
from gpu_fabric.spec import AddressingSpec
from gpu_fabric.spec.addressing import Ipam, Layout
from gpu_fabric.spec.network_types import AddressSpan, IPNetwork

# Prefix length of the largest range that is anybody's to use: 10.0.0.0/8 (RFC 1918), fd00::/8 (RFC 4193).
LARGEST_SUPERNET = 8


class AddressDemand(FrozenModel):
    """What the addresses are for.

    `node_numbers` are what the nodes go by where that is not 0, 1, 2, …: a pool of nodes may keep a run to grow into.
    With the layout per-node these are their shares, else those of the hosts' own addresses. `addresses_per_nic` is how
    many pods one NIC can serve at a time; `names` override the names of rails' pools; `passes_over` is the pool's;
    `smallest_block` is the smallest block, in addresses, that the IPAM's version can hand to a node.
    """

    layout: Layout
    ipam: Ipam
    rails: int
    addresses_per_nic: int
    nodes: int
    node_names: tuple[str, ...] = ()
    node_numbers: tuple[int, ...] = ()
    names: dict[int, str] = {}
    smallest_block: int = 1
    passes_over: bool = False

    @property
    def hosts(self) -> int:
        """Numbers that nodes go by: every node's, and those kept between."""
        return max(self.node_numbers, default=self.nodes - 1) + 1

    @property
    def one_pool(self) -> bool:
        """Whether all rails take from one pool. From one pool Spiderpool gives two NICs of a pod the same address."""
        return self.layout == "flat" and self.ipam != "spiderpool"

    @property
    def needed_per_node(self) -> int:
        """Addresses a full node takes from one pool."""
        return self.addresses_per_nic * (self.rails if self.one_pool else 1)

    @property
    def division(self) -> Division:
        """How a pool is shared among nodes."""
        if self.layout == "per-node":
            return "prefixes"
        return "blocks" if self.ipam == "nv-ipam" else "sequence"

    @property
    def serving(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Pools with the rails each serves; numbers are zero-padded so that text order is rail order."""
        if self.one_pool:
            return ((self.names.get(0, "rdma-fabric"), tuple(range(self.rails))),)
        return tuple((self.names.get(rail, f"rail-{rail:02d}"), (rail,)) for rail in range(self.rails))


def wanted_nodes(addressing: AddressingSpec, demand: AddressDemand) -> int:
    """Shares that must be there at the same time: every node's, those between, and spare and surge nodes'."""
    counted = demand.hosts if demand.layout == "per-node" else demand.nodes
    return counted + addressing.spare_nodes + addressing.surge_nodes


def part_prefix(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> int:
    """Prefix length of each pool's part of the supernet."""
    if addressing.prefix_length is not None:
        return addressing.prefix_length
    return supernet.prefixlen + (0 if demand.one_pool else slot_bits(addressing))


def slot_bits(addressing: AddressingSpec) -> int:
    """Bits of the supernet that number the rail slots."""
    return (addressing.rail_slots - 1).bit_length()


def hosts_in(size: int, version: int) -> int:
    """Addresses of a network of that size that hosts and routers can hold.

    Point-to-point networks use all (RFC 3021, RFC 6164); IPv6 has no broadcast address, but its first one is the
    routers' anycast address (RFC 4291, section 2.6.1).
    """
    return size if size <= 2 else size - 1 - (version == 4)


def empty_pool(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand, place: int) -> AddressPool:
    """The pool at a place of `demand.serving`, not yet counted."""
    part = part_prefix(addressing, supernet, demand)
    name, rails = demand.serving[place]
    slot = place + (0 if demand.one_pool else addressing.first_rail_slot)
    start = int(supernet.network_address) + slot * (1 << (supernet.max_prefixlen - part))
    space: IPNetwork = type(supernet)((start, part))
    return AddressPool(
        name=name,
        rails=rails,
        space=space,
        subnet=supernet if demand.layout == "flat" and not demand.one_pool else space,
        division=demand.division,
        gateway_position=addressing.gateway,
        reserved_first=addressing.reserved_first,
        reserved_last=addressing.reserved_last,
        excluded=_excluded(addressing, space),
        node_prefix_length=_node_prefix(addressing, supernet, demand) if demand.layout == "per-node" else None,
        addresses_per_node=_share(addressing, demand),
        passes_over=demand.passes_over and demand.ipam == "nv-ipam",
    )


def _excluded(addressing: AddressingSpec, space: IPNetwork) -> tuple[AddressSpan, ...]:
    """What the stack file excludes from a pool's part, merged and in order, however it was written."""
    spans = (span for span in addressing.exclude if span.first.version == space.version)
    runs = AddressSpace.of((int(span.first), int(span.last)) for span in spans)
    inside = runs.clipped(int(space.network_address), int(space.broadcast_address)).runs
    version = space.version
    return tuple(AddressSpan(first=address(version, first), last=address(version, last)) for first, last in inside)


def _share(addressing: AddressingSpec, demand: AddressDemand) -> int:
    """Addresses that one node is given from a pool that it shares with others."""
    if addressing.addresses_per_node is not None:
        return addressing.addresses_per_node
    # Room for as many rails as there are slots, so that a rail more does not change every node's share.
    share = demand.addresses_per_nic * (addressing.rail_slots if demand.one_pool else 1)
    if demand.division == "sequence":
        return share
    # One address more where the gateway would otherwise take a node's only one. Newer versions of nv-ipam pass it over,
    # but another size of blocks would give every node other addresses: a new stack may write addressesPerNode: 1.
    return max(demand.smallest_block, share + (addressing.gateway != "none"))


def _node_prefix(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> int:
    """Prefix length of a node's share: as given, /64 in IPv6, else the longest that serves the node's pods."""
    if addressing.node_prefix_length is not None:
        return addressing.node_prefix_length
    part, longest = part_prefix(addressing, supernet, demand), supernet.max_prefixlen
    if supernet.version == 6 and part < 64:
        return 64
    fixed = max(addressing.reserved_first, addressing.gateway == "first")
    fixed += max(addressing.reserved_last, addressing.gateway == "last")
    wanted = (addressing.addresses_per_node or demand.addresses_per_nic) + fixed
    sizes = {prefix: hosts_in(1 << (longest - prefix), supernet.version) for prefix in range(longest - 1, part, -1)}
    return next((prefix for prefix, hosts in sizes.items() if hosts >= wanted), part + 1)
