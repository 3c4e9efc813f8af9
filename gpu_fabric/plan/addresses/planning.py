"""From `addressing` and a demand to the address plan, or to the reason why there is none and the smallest remedies.

The position of a rail's and a node's addresses depends only on `addressing` of the stack file, never on the number of
nodes or rails: rail r gets the r-th part of the supernet, node n the n-th share of that part. So growth moves no
address.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog import catalog
from gpu_fabric.plan.addresses.plan import (
    AddressDemand,
    AddressPlan,
    AddressPool,
    AddressSpace,
    CapacityProof,
    Growth,
    Limit,
    RangeInUse,
    address,
    binds_shares,
    hosts_in,
)
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec
from gpu_fabric.spec.network_types import AddressSpan, IPNetwork

# Prefix length of the largest private range: 10.0.0.0/8 (RFC 1918), fd00::/8 (RFC 4193).
LARGEST_SUPERNET = 8


@dataclass(frozen=True)
class Refusal:
    """The reason why no plan is possible. `key` is the key under `addressing` to change; `kind` is the broken rule."""

    kind: Literal["capacity", "share", "gateway", "exclusion", "cut"]
    key: str
    message: str
    remedy: str = ""


def share_count(addressing: AddressingSpec, demand: AddressDemand) -> int:
    """The shares that exist at the same time: of all nodes, of numbers between them, and of spare and surge nodes."""
    counted = demand.hosts if binds_shares(demand.layout, demand.ipam) else demand.nodes
    return counted + addressing.spare_nodes + addressing.surge_nodes


def slot_bits(addressing: AddressingSpec) -> int:
    """The bits of the supernet that number the rail slots."""
    return (addressing.rail_slots - 1).bit_length()


@dataclass(frozen=True)
class Cut:
    """A supernet that is cut into pools for a demand, as `addressing` says."""

    addressing: AddressingSpec
    supernet: IPNetwork
    demand: AddressDemand

    @property
    def part(self) -> int:
        """The prefix length of each pool's part of the supernet."""
        if self.addressing.prefix_length is not None:
            return self.addressing.prefix_length
        return self.supernet.prefixlen + (0 if self.demand.one_pool else slot_bits(self.addressing))

    @property
    def first_slot(self) -> int:
        """The first of the supernet's parts that is a pool's."""
        return 0 if self.demand.one_pool else self.addressing.first_rail_slot

    def pools(self) -> tuple[AddressPool, ...] | Refusal:
        """The pools with their capacity, without the nodes' shares; or the reason why they do not fit."""
        if refusal := self._cut_refusal():
            return refusal
        pools = [self._empty_pool(place) for place in range(len(self.demand.serving))]
        if refusal := self._share_refusal(pools[0]):
            return refusal
        counted, wanted = [], share_count(self.addressing, self.demand)
        for pool in pools:
            result = _count(pool, self.demand, wanted)
            if isinstance(result, Refusal):
                return result
            counted.append(result)
        return tuple(counted)

    def _empty_pool(self, place: int) -> AddressPool:
        """The pool at a place of `demand.serving`, not yet counted."""
        addressing, supernet, demand = self.addressing, self.supernet, self.demand
        name, rails = demand.serving[place]
        start = int(supernet.network_address) + ((self.first_slot + place) << (supernet.max_prefixlen - self.part))
        space: IPNetwork = type(supernet)((start, self.part))
        subnet = supernet if demand.layout == "flat" and not demand.one_pool else space
        return AddressPool(
            name=name,
            rails=rails,
            space=space,
            subnet=subnet,
            division=demand.division,
            gateway_position=addressing.gateway,
            reserved_first=addressing.reserved_first,
            reserved_last=addressing.reserved_last,
            excluded=self._excluded(space, subnet),
            node_prefix_length=self._node_prefix() if demand.layout == "per-node" else None,
            addresses_per_node=self._share(),
            passes_over=demand.passes_over and demand.ipam == "nv-ipam",
        )

    def _excluded(self, space: IPNetwork, subnet: IPNetwork) -> tuple[AddressSpan, ...]:
        """The addresses of a pool's part that the stack file excludes or the IPAM never gives, merged and in order."""
        version = space.version
        spans = [(int(span.first), int(span.last)) for span in self.addressing.exclude if span.first.version == version]
        if never_gives_last(self.demand.ipam, version):
            spans.append((int(subnet.broadcast_address),) * 2)
        runs = AddressSpace.of(spans)
        inside = runs.clipped(int(space.network_address), int(space.broadcast_address)).runs
        return tuple(AddressSpan(first=address(version, first), last=address(version, last)) for first, last in inside)

    def _share(self) -> int:
        """The addresses of one node in a pool that it shares with others."""
        addressing, demand = self.addressing, self.demand
        if addressing.addresses_per_node is not None:
            return addressing.addresses_per_node
        # One address per rail slot, so that a further rail does not change every node's share.
        share = demand.addresses_per_nic * (addressing.rail_slots if demand.one_pool else 1)
        if demand.division in ("sequence", "hosts"):
            return share
        # One more, since the gateway could take a node's only address. Newer versions of nv-ipam skip the gateway's
        # block, but another block size would give every node other addresses: a new stack may write
        # addressesPerNode: 1.
        return max(demand.smallest_block, share + (addressing.gateway != "none"))

    def _node_prefix(self) -> int:
        """The prefix length of a node's share: as given, /64 in IPv6, or the longest that serves the node's pods."""
        addressing, supernet, part = self.addressing, self.supernet, self.part
        if addressing.node_prefix_length is not None:
            return addressing.node_prefix_length
        if supernet.version == 6 and part < 64:
            return 64
        fixed = max(addressing.reserved_first, addressing.gateway == "first")
        fixed += max(addressing.reserved_last, addressing.gateway == "last")
        wanted = (addressing.addresses_per_node or self.demand.addresses_per_nic) + fixed
        longest = supernet.max_prefixlen
        sizes = {prefix: hosts_in(1 << (longest - prefix), supernet.version) for prefix in range(longest - 1, part, -1)}
        return next((prefix for prefix, hosts in sizes.items() if hosts >= wanted), part + 1)

    def _cut_refusal(self) -> Refusal | None:
        addressing, supernet, demand, part = self.addressing, self.supernet, self.demand, self.part
        rails, first = len(demand.serving), self.first_slot
        cut_by = "supernet" if addressing.prefix_length is None else "prefixLength"
        if demand.one_pool and addressing.addresses_per_node is None and demand.rails > addressing.rail_slots:
            message = f"a node's share has room for {addressing.rail_slots} rails, but there are {demand.rails}"
            return Refusal("cut", "railSlots", message)
        if part < supernet.prefixlen:
            return Refusal("cut", cut_by, f"subnets of /{part} are larger than the supernet {supernet}")
        # Versions of nv-ipam differ for a shared subnet of two addresses, but not for a node's own.
        if part > supernet.max_prefixlen - (1 if demand.layout == "per-node" else 2):
            return Refusal("cut", cut_by, f"{supernet} cut into /{part} leaves no room for nodes")
        if (room := 1 << (part - supernet.prefixlen)) < first + rails:
            begin = f", of which the first {first} are passed over" if first else ""
            message = f"{supernet} holds {quantity(room, 'subnet')} of /{part}{begin}, but there are {rails} rails"
            return Refusal("cut", "railSlots" if cut_by == "supernet" else cut_by, message)
        return None

    def _share_refusal(self, pool: AddressPool) -> Refusal | None:
        need, prefix, smallest = self.demand.needed_per_node, pool.node_prefix_length, self.demand.smallest_block
        if prefix is None:
            if pool.addresses_per_node < need:
                message = f"a node takes {need} addresses from each pool, {pool.addresses_per_node} are too few"
                return Refusal("share", "addressesPerNode", message)
            if pool.division == "blocks" and pool.addresses_per_node < smallest:
                message = f"this release line's nv-ipam cuts blocks of {smallest} addresses and more"
                return Refusal("share", "addressesPerNode", message)
            return None
        if not pool.space.prefixlen < prefix <= pool.space.max_prefixlen:
            message = f"a node's prefix of /{prefix} does not divide the rail's {pool.space}"
            return Refusal("share", "nodePrefixLength", message)
        has, wanted = _full_share(pool), max(need, self.addressing.addresses_per_node or 0)
        if has < wanted:
            message = f"a node takes {quantity(wanted, 'address')} from each rail, but its /{prefix} has {has} to give"
            return Refusal("share", "nodePrefixLength", message)
        return None


def never_gives_last(ipam: str | None, version: int) -> bool:
    """Whether the last address of a subnet is lost though hosts could use it.

    Whereabouts 0.9.4 takes it for a broadcast address in IPv6 too (`LastUsableIP`, pkg/iphelpers/iphelpers.go).
    """
    return ipam == "whereabouts" and version == 6


def shares_in(pool: AddressPool) -> int:
    """The number of shares in the pool's part of the supernet, before exclusions."""
    if pool.node_prefix_length is not None:
        return 1 << (pool.node_prefix_length - pool.space.prefixlen)
    if pool.in_turn:
        return pool.available.count // pool.addresses_per_node
    return hosts_in(pool.space.num_addresses, pool.space.version) // pool.addresses_per_node


def _full_share(pool: AddressPool) -> int:
    """The addresses of a node's prefix, before exclusions."""
    return pool.altered(excluded=()).share(0).count


def _count(pool: AddressPool, demand: AddressDemand, wanted: int) -> AddressPool | Refusal:
    need, shares = demand.needed_per_node, shares_in(pool)
    if pool.division == "prefixes":
        share = _full_share(pool)
        usable = share * shares - _count_excluded(pool, share, shares)
        pool = pool.altered(addresses_per_node=share)
    else:
        usable = pool.available.count
    starved = None if pool.in_turn else _first_starved(pool, need, shares)
    if shares < wanted or (pool.division != "prefixes" and usable < wanted * need):
        return Refusal("capacity", "supernet", _shortage(pool.altered(usable=usable), wanted, shares, starved))
    if starved is not None and starved < wanted:
        return _starved_refusal(pool.altered(usable=usable), demand, starved)
    most = shares if starved is None else starved
    return pool.altered(usable=usable, needed=_count_taken(pool, wanted), max_nodes=most)


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
    demanded = f"{quantity(wanted, 'node')} x {quantity(share, 'address')} = {wanted * share} per pool"
    if wanted * share <= pool.usable:
        return f"{demanded}, but {pool.space} is cut into {shares} blocks of {share}: {wanted - shares} short"
    fixed = [f"less gateway {pool.gateway}"] if pool.gateway is not None and pool.gateway in pool.space else []
    kept = pool.reserved_first + pool.reserved_last
    fixed += [f"{kept} reserved"] if kept else []
    last = pool.subnet.broadcast_address
    fixed += ["the excluded ones"] if any(span.first != last for span in pool.excluded) else []
    fixed += ["the network's last one"] if any(span.first == last for span in pool.excluded) else []
    usable = f"{pool.usable} usable" + (f" ({', '.join(fixed)})" if fixed else "")
    short = quantity(wanted * share - pool.usable, "address")
    # If a share has no usable address, the number of shares is not the number of served nodes.
    serves = f" and so serves {quantity(shares, 'node')}" if starved is None else ""
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
        return Refusal("gateway", "addressesPerNode", message)
    share = pool.node_prefix(place) or f"a block of {pool.addresses_per_node}"
    which = f"node {place + 1}" if place else "the first node"
    message = (
        f"{which} gets {share} from {pool.name}, of which {left} of the {need} addresses it takes are left "
        "after what is reserved and excluded"
    )
    key = "exclude" if pool.excluded else "reservedFirst" if pool.reserved_first else "reservedLast"
    return Refusal("exclusion", key, message)


def plan_addresses(
    addressing: AddressingSpec,
    ranges: AddressRangesSpec,
    demand: AddressDemand,
    within: Collection[str] = (),
    others: Mapping[str, IPNetwork] = MappingProxyType({}),
) -> AddressPlan | Refusal:
    """The plan, or the reason why there is none; every proposed remedy is proved to fit.

    `within` names the ranges in use that are parts of another range, and need not be stated. `others` are the ranges of
    the stack's other fabrics, by name.

    Raises:
        ValueError: the layout gives addresses, and `addressing` has no supernet.
    """
    pools: tuple[AddressPool, ...] = ()
    limits: tuple[Limit, ...] = ()
    if demand.layout != "none":
        if addressing.supernet is None:
            raise ValueError(f"the layout {demand.layout} needs a supernet")
        cut = Cut(addressing, addressing.supernet, demand)
        found = cut.pools()
        if isinstance(found, Refusal):
            return replace(found, remedy=remedy(cut, found))
        pools, limits = found, limits_of(addressing, demand)
    return AddressPlan(
        layout=demand.layout,
        ipam=demand.ipam if pools else None,
        supernet=addressing.supernet if pools else None,
        addresses_per_nic=demand.addresses_per_nic,
        node_names=demand.node_names,
        node_numbers=demand.node_numbers,
        pools=pools,
        proof=CapacityProof(
            nodes=demand.nodes,
            spare_nodes=addressing.spare_nodes,
            surge_nodes=addressing.surge_nodes,
            needed_per_node=demand.needed_per_node if pools else 0,
            growth=growth_of(addressing, demand, pools, limits),
            limits=limits,
            disjoint_from=tuple(
                RangeInUse(name=name, range=network) for name, network in (*stated_ranges(ranges), *others.items())
            ),
            not_stated=ranges.not_stated(within),
        ),
    )


def stated_ranges(ranges: AddressRangesSpec) -> list[tuple[str, IPNetwork]]:
    """The ranges in use that the stack file names, each with its key."""
    return [*ranges.own().items(), *((f"reserved[{place}]", network) for place, network in enumerate(ranges.reserved))]


def limits_of(addressing: AddressingSpec, demand: AddressDemand) -> tuple[Limit, ...]:
    """The limits outside the address space that apply to a plan, each for the fullest pool."""
    wanted, known = share_count(addressing, demand), catalog().address_limits
    source = None
    if demand.ipam == "nv-ipam":
        # A named node has an allocation in the pool's spec in addition to the one in its status.
        each = known.allocation_bytes.value * (2 if demand.node_names and demand.layout == "per-node" else 1)
        name, most = "the size of one pool object", known.object_bytes
        source = f"{most.source}; nv-ipam keeps about {each} bytes a node in a pool"
    elif demand.ipam != "spiderpool":
        return ()
    elif demand.layout == "per-node":
        name, most, each = "the number of SpiderIPPools", known.spiderpool_most_pools, demand.rails
    else:
        name, most = "the addresses that Spiderpool allocates from one pool", known.spiderpool_allocated
        each = demand.needed_per_node
    return (
        Limit(
            name=name,
            value=wanted * each,
            limit=most.value,
            unit=most.unit,
            nodes=most.value // each,
            source=source or most.source,
        ),
    )


def growth_of(
    addressing: AddressingSpec, demand: AddressDemand, pools: tuple[AddressPool, ...], limits: tuple[Limit, ...]
) -> Growth:
    """The possible growth, in steps of `growthStep` nodes, and the sizes that would allow more."""
    wanted = share_count(addressing, demand)
    ends = [(pool.max_nodes, f"the addresses of {pool.name}") for pool in pools]
    ends += [(limit.nodes, limit.name) for limit in limits]
    most, what = min(ends, key=lambda end: end[0], default=(wanted, "nothing: no addresses are planned"))
    subnet, supernet = _next_sizes(addressing, demand, pools[0]) if pools else ("", "")
    return Growth(
        step=addressing.growth_step,
        steps=max(0, most - wanted) // addressing.growth_step,
        max_nodes=most,
        ends_at=what,
        next_subnet=subnet,
        next_supernet=supernet,
    )


def _next_sizes(addressing: AddressingSpec, demand: AddressDemand, pool: AddressPool) -> tuple[str, str]:
    """The size of a pool for one node more than this one, and of a supernet with such a pool per rail slot."""
    rails = (addressing.first_rail_slot + demand.rails - 1).bit_length()
    chosen = rails if addressing.prefix_length is not None else max(slot_bits(addressing), rails)
    slots = 0 if demand.one_pool else chosen
    for prefix in range(pool.space.prefixlen - 1, LARGEST_SUPERNET - 1, -1):
        space = type(pool.space)((0, prefix))
        larger = pool.altered(space=space, subnet=space, excluded=())
        if shares_in(larger) > pool.max_nodes:
            return f"/{prefix}", f"/{prefix - slots}" if prefix - slots >= LARGEST_SUPERNET else ""
    return "", ""


Change = tuple[dict[str, Any], str]
"""Fields of `Addressing` with new values, and the change in words."""

# Limits the search to well under a second, for any numbers in the stack file.
_MOST_TRIES = 200

_Search = Callable[[Cut], Iterator[Change]]


def remedy(cut: Cut, refusal: Refusal) -> str:
    """The proposals in one sentence: of each kind of change the smallest that fits, the least disruptive kind first."""
    changes = fitting_changes(cut, refusal)
    if not changes:
        return "ask for fewer nodes or addresses: no single change of `addressing` fits"
    return ", or ".join(words for _, words in changes)


def fitting_changes(cut: Cut, refusal: Refusal) -> tuple[Change, ...]:
    """The proposals, each of which makes the plan fit; two keys are changed only if no single change fits."""
    found = [change for search in _SEARCHES[refusal.kind] if (change := _first_fitting(search, cut)) is not None]
    if not found:
        # The cause of a refusal may be other keys than those that it names first.
        others = (_drop_keys(), *dict.fromkeys(search for searches in _SEARCHES.values() for search in searches))
        for search in (*others, _wider_supernet_cut_again):
            if (change := _first_fitting(search, cut)) is not None:
                return (change,)
    return tuple(found)


def _first_fitting(search: _Search, cut: Cut) -> Change | None:
    for fields, words in islice(search(cut), _MOST_TRIES):
        changed = cut.addressing.model_copy(update=fields)
        if not isinstance(Cut(changed, changed.supernet or cut.supernet, cut.demand).pools(), Refusal):
            return fields, words
    return None


def _larger_subnets(cut: Cut) -> Iterator[Change]:
    pinned = cut.addressing.prefix_length
    if pinned is not None:
        lengths = range(cut.supernet.prefixlen, cut.supernet.max_prefixlen)
        for prefix in sorted(lengths, key=lambda length: abs(length - pinned)):
            yield {"prefix_length": prefix}, f"write prefixLength: {prefix}"


def _drop_keys(*names: str) -> _Search:
    """Each of these keys that is stated, left to its default; without names, every stated key."""

    def search(cut: Cut) -> Iterator[Change]:
        for name, info in AddressingSpec.model_fields.items():
            wanted = name in names if names else name not in ("supernet", "layout", "ipam")
            if wanted and getattr(cut.addressing, name) != info.default:
                yield {name: info.default}, f"leave {info.alias or name} out"

    return search


def _other_slots(cut: Cut) -> Iterator[Change]:
    if cut.addressing.prefix_length is not None and not cut.demand.one_pool:
        return
    for slots in (1, 2, 4, 8, 16, 32, 64):
        if slots >= cut.addressing.first_rail_slot + cut.demand.rails and slots != cut.addressing.rail_slots:
            yield {"rail_slots": slots}, f"write railSlots: {slots} (it cuts the range again, which moves addresses)"


def _earlier_first_slot(cut: Cut) -> Iterator[Change]:
    for slot in range(cut.addressing.first_rail_slot - 1, -1, -1):
        yield {"first_rail_slot": slot}, f"write firstRailSlot: {slot}"


def _wider_supernet(cut: Cut) -> Iterator[Change]:
    for prefix in range(cut.supernet.prefixlen - 1, LARGEST_SUPERNET - 1, -1):
        yield {"supernet": cut.supernet.supernet(new_prefix=prefix)}, f"use a supernet of /{prefix} or larger"


def _wider_supernet_cut_again(cut: Cut) -> Iterator[Change]:
    pinned = {"prefixLength": cut.addressing.prefix_length, "addressesPerNode": cut.addressing.addresses_per_node}
    keys = " and ".join(key for key, value in pinned.items() if value is not None)
    if keys:
        without: dict[str, Any] = {"prefix_length": None, "addresses_per_node": None}
        yield without, f"leave {keys} out"
        for fields, words in _wider_supernet(cut):
            yield {**fields, **without}, f"{words}, and leave {keys} out"


def _smaller_share(cut: Cut) -> Iterator[Change]:
    pinned, need = cut.addressing.addresses_per_node, cut.demand.needed_per_node
    if pinned is None:
        return
    # A prefix length beyond that of one address is refused, and the remedy is looked for all the same.
    size = 1 << max(0, cut.supernet.max_prefixlen - cut.part)
    for share in range(min(pinned - 1, size // share_count(cut.addressing, cut.demand)), need - 1, -1):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _larger_share(cut: Cut) -> Iterator[Change]:
    if cut.demand.division == "prefixes":
        return
    need, kept = cut.demand.needed_per_node, cut.addressing.reserved_first + cut.addressing.reserved_last
    larger = {need << doublings for doublings in range(1, 12)}
    for share in sorted(larger | set(range(need, need + cut.demand.smallest_block + kept + 2))):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _other_node_prefix(cut: Cut) -> Iterator[Change]:
    if cut.demand.division != "prefixes":
        return
    for prefix in range(cut.supernet.max_prefixlen - 1, cut.supernet.prefixlen, -1):
        if prefix != cut.addressing.node_prefix_length:
            yield {"node_prefix_length": prefix}, f"write nodePrefixLength: {prefix}"


def _fewer_extra_nodes(cut: Cut) -> Iterator[Change]:
    for spare in range(cut.addressing.spare_nodes - 1, -1, -max(1, cut.addressing.spare_nodes // 64)):
        yield {"spare_nodes": spare}, f"write spareNodes: {spare}"


def _drop_gateway(cut: Cut) -> Iterator[Change]:
    if cut.addressing.gateway != "none":
        yield {"gateway": "none"}, "set gateway: none"


def _drop_exclusions(cut: Cut) -> Iterator[Change]:
    if cut.addressing.exclude:
        yield {"exclude": ()}, "keep those hosts' addresses outside the supernet, and leave exclude out"
    if cut.addressing.reserved_first or cut.addressing.reserved_last:
        yield {"reserved_first": 0, "reserved_last": 0}, "leave reservedFirst and reservedLast out"


_AUTOMATIC_SUBNETS, _AUTOMATIC_SHARE = _drop_keys("prefix_length"), _drop_keys("addresses_per_node")
_SEARCHES: dict[str, tuple[_Search, ...]] = {
    "capacity": (
        _fewer_extra_nodes,
        _larger_subnets,
        _smaller_share,
        _AUTOMATIC_SHARE,
        _other_node_prefix,
        _other_slots,
        _wider_supernet,
    ),
    "share": (_other_node_prefix, _larger_share, _AUTOMATIC_SHARE, _wider_supernet),
    "gateway": (_larger_share, _drop_gateway),
    "exclusion": (_larger_share, _other_node_prefix, _drop_exclusions),
    "cut": (_earlier_first_slot, _larger_subnets, _AUTOMATIC_SUBNETS, _other_slots, _wider_supernet),
}
