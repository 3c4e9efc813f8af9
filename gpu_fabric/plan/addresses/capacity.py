"""How the supernet is divided for a demand, and whether each pool has enough addresses for the nodes.

The position of a rail's and a node's addresses depends only on `addressing` of the stack file, never on the number of
nodes or rails: rail r gets the r-th part of the supernet, node n the n-th share of that part. So growth moves no
address.
"""

from __future__ import annotations

from typing import Literal

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses.model import AddressPool, AddressSpace, Division, address, host_run
from gpu_fabric.spec.addressing import AddressingSpec, Ipam, Layout
from gpu_fabric.spec.network_types import AddressSpan, IPNetwork

# Prefix length of the largest private range: 10.0.0.0/8 (RFC 1918), fd00::/8 (RFC 4193).
LARGEST_SUPERNET = 8


class AddressDemand(FrozenModel):
    """The demand for addresses.

    `node_numbers` are the nodes' numbers if they are not 0, 1, 2, …: a pool of nodes may reserve numbers for growth.
    With the layout per-node they number the shares, with others the hosts' own addresses. `addresses_per_nic` is the
    number of pods that one NIC can serve at a time; `names` override the names of rails' pools, and `prefix` begins all
    others; `passes_over` is the pool's; `smallest_block` is the smallest block, in addresses, that the IPAM's version
    can assign to a node.
    """

    layout: Layout
    ipam: Ipam
    rails: int
    addresses_per_nic: int
    nodes: int
    node_names: tuple[str, ...] = ()
    node_numbers: tuple[int, ...] = ()
    names: dict[int, str] = {}
    prefix: str = ""
    smallest_block: int = 1
    passes_over: bool = False

    @property
    def hosts(self) -> int:
        """The count of node numbers: those of the nodes, and those reserved between them."""
        return max(self.node_numbers, default=self.nodes - 1) + 1

    @property
    def one_pool(self) -> bool:
        """Whether all rails share one pool. From one pool, Spiderpool gives two NICs of a pod the same address."""
        return self.layout == "flat" and self.ipam != "spiderpool"

    @property
    def needed_per_node(self) -> int:
        """The addresses that a full node needs from one pool."""
        return self.addresses_per_nic * (self.rails if self.one_pool else 1)

    @property
    def division(self) -> Division:
        """How a pool is divided among nodes."""
        if self.layout == "per-node":
            return "prefixes"
        return "blocks" if self.ipam == "nv-ipam" else "sequence"

    @property
    def serving(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The pools with their rails; numbers are zero-padded so that text order is rail order."""
        if self.one_pool:
            return ((self.names.get(0, f"{self.prefix}rdma-fabric"), tuple(range(self.rails))),)
        return tuple((self.names.get(rail, f"{self.prefix}rail-{rail:02d}"), (rail,)) for rail in range(self.rails))


def share_count(addressing: AddressingSpec, demand: AddressDemand) -> int:
    """The shares that exist at the same time: of all nodes, of numbers between them, and of spare and surge nodes."""
    counted = demand.hosts if demand.layout == "per-node" else demand.nodes
    return counted + addressing.spare_nodes + addressing.surge_nodes


def part_prefix(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> int:
    """The prefix length of each pool's part of the supernet."""
    if addressing.prefix_length is not None:
        return addressing.prefix_length
    return supernet.prefixlen + (0 if demand.one_pool else slot_bits(addressing))


def slot_bits(addressing: AddressingSpec) -> int:
    """The bits of the supernet that number the rail slots."""
    return (addressing.rail_slots - 1).bit_length()


def hosts_in(size: int, version: int) -> int:
    """The number of addresses that hosts and routers can use in a network of that size."""
    first, last = host_run((0, size - 1), version)
    return last - first + 1


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
    """The addresses that the stack file excludes from a pool's part, merged and in order."""
    spans = (span for span in addressing.exclude if span.first.version == space.version)
    runs = AddressSpace.of((int(span.first), int(span.last)) for span in spans)
    inside = runs.clipped(int(space.network_address), int(space.broadcast_address)).runs
    version = space.version
    return tuple(AddressSpan(first=address(version, first), last=address(version, last)) for first, last in inside)


def _share(addressing: AddressingSpec, demand: AddressDemand) -> int:
    """The addresses of one node in a pool that it shares with others."""
    if addressing.addresses_per_node is not None:
        return addressing.addresses_per_node
    # One address per rail slot, so that a further rail does not change every node's share.
    share = demand.addresses_per_nic * (addressing.rail_slots if demand.one_pool else 1)
    if demand.division == "sequence":
        return share
    # One more, since the gateway could take a node's only address. Newer versions of nv-ipam skip the gateway's block,
    # but another block size would give every node other addresses: a new stack may write addressesPerNode: 1.
    return max(demand.smallest_block, share + (addressing.gateway != "none"))


def _node_prefix(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> int:
    """The prefix length of a node's share: as given, /64 in IPv6, or the longest that serves the node's pods."""
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


class Refusal(FrozenModel):
    """The reason why no plan is possible. `key` is the key under `addressing` to change; `kind` is the broken rule."""

    kind: Literal["capacity", "share", "gateway", "exclusion", "cut"]
    key: str
    message: str
    remedy: str = ""


def pools_of(
    addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand
) -> tuple[AddressPool, ...] | Refusal:
    """The pools with their capacity, without the nodes' shares; or the reason why they do not fit."""
    refusal = _cut_refusal(addressing, supernet, demand)
    if refusal is not None:
        return refusal
    pools = tuple(empty_pool(addressing, supernet, demand, place) for place in range(len(demand.serving)))
    refusal = _share_refusal(addressing, demand, pools[0])
    if refusal is not None:
        return refusal
    counted = []
    for pool in pools:
        result = _count(pool, demand, share_count(addressing, demand))
        if isinstance(result, Refusal):
            return result
        counted.append(result)
    return tuple(counted)


def shares_in(pool: AddressPool) -> int:
    """The number of shares in the pool's part of the supernet, before exclusions."""
    if pool.node_prefix_length is not None:
        return 1 << (pool.node_prefix_length - pool.space.prefixlen)
    if pool.in_turn:
        return pool.available.count // pool.addresses_per_node
    return hosts_in(pool.space.num_addresses, pool.space.version) // pool.addresses_per_node


def _cut_refusal(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> Refusal | None:
    part, rails = part_prefix(addressing, supernet, demand), len(demand.serving)
    first = 0 if demand.one_pool else addressing.first_rail_slot
    cut_by = "supernet" if addressing.prefix_length is None else "prefixLength"
    if demand.one_pool and addressing.addresses_per_node is None and demand.rails > addressing.rail_slots:
        message = f"a node's share has room for {addressing.rail_slots} rails, but there are {demand.rails}"
        return Refusal(kind="cut", key="railSlots", message=message)
    if part < supernet.prefixlen:
        return Refusal(kind="cut", key=cut_by, message=f"subnets of /{part} are larger than the supernet {supernet}")
    # Versions of nv-ipam differ for a shared subnet of two addresses, but not for a node's own.
    if part > supernet.max_prefixlen - (1 if demand.layout == "per-node" else 2):
        return Refusal(kind="cut", key=cut_by, message=f"{supernet} cut into /{part} leaves no room for nodes")
    if (room := 1 << (part - supernet.prefixlen)) < first + rails:
        begin = f", of which the first {first} are passed over" if first else ""
        message = f"{supernet} holds {room} subnet{_s(room)} of /{part}{begin}, but there are {rails} rails"
        return Refusal(kind="cut", key="railSlots" if cut_by == "supernet" else cut_by, message=message)
    return None


def _share_refusal(addressing: AddressingSpec, demand: AddressDemand, pool: AddressPool) -> Refusal | None:
    need, prefix = demand.needed_per_node, pool.node_prefix_length
    if prefix is None:
        if pool.addresses_per_node < need:
            message = f"a node takes {need} addresses from each pool, {pool.addresses_per_node} are too few"
            return Refusal(kind="share", key="addressesPerNode", message=message)
        if pool.division == "blocks" and pool.addresses_per_node < demand.smallest_block:
            message = f"this release line's nv-ipam cuts blocks of {demand.smallest_block} addresses and more"
            return Refusal(kind="share", key="addressesPerNode", message=message)
        return None
    if not pool.space.prefixlen < prefix <= pool.space.max_prefixlen:
        message = f"a node's prefix of /{prefix} does not divide the rail's {pool.space}"
        return Refusal(kind="share", key="nodePrefixLength", message=message)
    has, wanted = _full_share(pool), max(need, addressing.addresses_per_node or 0)
    if has < wanted:
        message = f"a node takes {_addresses(wanted)} from each rail, but its /{prefix} has {has} to give"
        return Refusal(kind="share", key="nodePrefixLength", message=message)
    return None


def _full_share(pool: AddressPool) -> int:
    """The addresses of a node's prefix, before exclusions."""
    return pool.altered(excluded=()).share(0).count


def _count(pool: AddressPool, demand: AddressDemand, wanted: int) -> AddressPool | Refusal:
    need, shares = demand.needed_per_node, shares_in(pool)
    if pool.division == "prefixes":
        share = _full_share(pool)
        pool = pool.altered(addresses_per_node=share, usable=share * shares - _count_excluded(pool, share, shares))
    else:
        pool = pool.altered(usable=pool.available.count)
    starved = None if pool.in_turn else _first_starved(pool, need, shares)
    if shares < wanted or (pool.division != "prefixes" and pool.usable < wanted * need):
        return Refusal(kind="capacity", key="supernet", message=_shortage(pool, wanted, shares, starved))
    if starved is not None and starved < wanted:
        return _starved_refusal(pool, demand, starved)
    return pool.altered(needed=_count_taken(pool, wanted), max_nodes=shares if starved is None else starved)


def _count_taken(pool: AddressPool, nodes: int) -> int:
    """The addresses in the shares of the first nodes."""
    share = pool.addresses_per_node
    if pool.division == "prefixes":
        return share * nodes - _count_excluded(pool, share, nodes)
    if pool.in_turn:
        return share * nodes
    first = int(pool.space.network_address) + 1
    return pool.available.clipped(first, first + nodes * share - 1).count


def _shortage(pool: AddressPool, wanted: int, shares: int, starved: int | None) -> str:
    share = pool.addresses_per_node
    if pool.node_prefix_length is not None:
        prefixes = f"{pool.space} is cut into {shares}"
        return f"{wanted} nodes take a /{pool.node_prefix_length} each, but {prefixes}: {wanted - shares} short"
    demanded = f"{wanted} node{_s(wanted)} x {_addresses(share)} = {wanted * share} per pool"
    if wanted * share <= pool.usable:
        return f"{demanded}, but {pool.space} is cut into {shares} blocks of {share}: {wanted - shares} short"
    fixed = [f"less gateway {pool.gateway}"] if pool.gateway is not None and pool.gateway in pool.space else []
    kept = pool.reserved_first + pool.reserved_last
    fixed += [f"{kept} reserved"] if kept else []
    fixed += ["the excluded ones"] if pool.excluded else []
    usable = f"{pool.usable} usable" + (f" ({', '.join(fixed)})" if fixed else "")
    short = _addresses(wanted * share - pool.usable)
    # If a share has no usable address, the number of shares is not the number of served nodes.
    serves = f" and so serves {shares} node{_s(shares)}" if starved is None else ""
    return f"{demanded}, but {pool.space} has {usable}{serves}: {short} short"


def _share_at(pool: AddressPool, value: int) -> int:
    """The number of the share that contains an address; negative before the first."""
    base = int(pool.space.network_address)
    if pool.node_prefix_length is not None:
        return (value - base) >> (pool.space.max_prefixlen - pool.node_prefix_length)
    return (value - base - 1) // pool.addresses_per_node


def _count_excluded(pool: AddressPool, full: int, shares: int) -> int:
    """The number of excluded addresses in the prefixes of the first `shares` nodes."""
    ends = [(_share_at(pool, int(span.first)), _share_at(pool, int(span.last))) for span in pool.excluded]
    partly = AddressSpace.of((place, place) for pair in ends for place in pair).clipped(0, shares - 1)
    wholly = AddressSpace.of((start + 1, end - 1) for start, end in ends).minus(partly).clipped(0, shares - 1)
    touched = (place for first, last in partly.runs for place in range(first, last + 1))
    return wholly.count * full + sum(full - pool.share(place).count for place in touched)


def _first_starved(pool: AddressPool, need: int, shares: int) -> int | None:
    """The first share with fewer usable addresses than a node needs, or None.

    Only a share at an edge of the pool, of its reserved ends or of an exclusion can differ from its neighbours.
    """
    places = {0, shares - 1}
    edges = [int(end) for span in pool.excluded for end in (span.first, span.last)]
    if pool.division == "blocks":
        edges += (end for run in pool.available.runs for end in run)
    for edge in edges:
        place = _share_at(pool, edge)
        places |= {place - 1, place, place + 1}
    return next((place for place in sorted(places) if 0 <= place < shares and pool.share(place).count < need), None)


def _starved_refusal(pool: AddressPool, demand: AddressDemand, place: int) -> Refusal:
    need, left = demand.needed_per_node, pool.share(place).count
    if pool.division == "blocks" and pool.altered(gateway_position="none").share(place).count >= need:
        message = (
            f"gateway {pool.gateway} is in one node's block of {pool.addresses_per_node}, which then has {left} of "
            f"the {need} addresses the node takes"
        )
        return Refusal(kind="gateway", key="addressesPerNode", message=message)
    share = pool.node_prefix(place) or f"a block of {pool.addresses_per_node}"
    which = f"node {place + 1}" if place else "the first node"
    message = (
        f"{which} gets {share} from {pool.name}, of which {left} of the {need} addresses it takes are left "
        "after what is reserved and excluded"
    )
    key = "exclude" if pool.excluded else "reservedFirst" if pool.reserved_first else "reservedLast"
    return Refusal(kind="exclusion", key=key, message=message)


def _addresses(count: int) -> str:
    return f"{count} address" if count == 1 else f"{count} addresses"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
