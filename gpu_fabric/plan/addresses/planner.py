"""From addressing and demand to the address plan, or to the reason why there is none and the smallest remedies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.addresses.capacity import (
    LARGEST_SUPERNET,
    AddressDemand,
    Refusal,
    part_prefix,
    pools_of,
    share_count,
    shares_in,
    slot_bits,
)
from gpu_fabric.plan.addresses.model import AddressPlan, AddressPool, CapacityProof, Growth, Limit, RangeInUse
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec
from gpu_fabric.spec.network_types import IPNetwork


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
    if demand.layout != "none":
        if addressing.supernet is None:
            raise ValueError(f"the layout {demand.layout} needs a supernet")
        found = pools_of(addressing, addressing.supernet, demand)
        if isinstance(found, Refusal):
            return found.model_copy(update={"remedy": remedy(addressing, addressing.supernet, demand, found)})
        pools = found
    limits = limits_of(addressing, demand) if pools else ()
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

_Search = Callable[[AddressingSpec, IPNetwork, AddressDemand], Iterator[Change]]


def remedy(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand, refusal: Refusal) -> str:
    """The proposals in one sentence: of each kind of change the smallest that fits, the least disruptive kind first."""
    changes = fitting_changes(addressing, supernet, demand, refusal)
    if not changes:
        return "ask for fewer nodes or addresses: no single change of `addressing` fits"
    return ", or ".join(words for _, words in changes)


def fitting_changes(
    addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand, refusal: Refusal
) -> tuple[Change, ...]:
    """The proposals, each of which makes the plan fit; two keys are changed only if no single change fits."""
    found = [
        change
        for search in _SEARCHES[refusal.kind]
        if (change := _first_fitting(search, addressing, supernet, demand)) is not None
    ]
    if not found:
        # The cause of a refusal may be other keys than those that it names first.
        others = (_drop_keys(), *dict.fromkeys(search for searches in _SEARCHES.values() for search in searches))
        for search in (*others, _wider_supernet_cut_again):
            if (change := _first_fitting(search, addressing, supernet, demand)) is not None:
                return (change,)
    return tuple(found)


def _first_fitting(
    search: _Search, addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand
) -> Change | None:
    for fields, words in islice(search(addressing, supernet, demand), _MOST_TRIES):
        changed = addressing.model_copy(update=fields)
        if not isinstance(pools_of(changed, changed.supernet or supernet, demand), Refusal):
            return fields, words
    return None


def _larger_subnets(addressing: AddressingSpec, supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    pinned = addressing.prefix_length
    if pinned is not None:
        for prefix in sorted(range(supernet.prefixlen, supernet.max_prefixlen), key=lambda size: abs(size - pinned)):
            yield {"prefix_length": prefix}, f"write prefixLength: {prefix}"


def _drop_keys(*names: str) -> _Search:
    """Each of these keys that is stated, left to its default; without names, every stated key."""

    def search(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
        for name, info in AddressingSpec.model_fields.items():
            wanted = name in names if names else name not in ("supernet", "layout", "ipam")
            if wanted and getattr(addressing, name) != info.default:
                yield {name: info.default}, f"leave {info.alias or name} out"

    return search


def _other_slots(addressing: AddressingSpec, _supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if addressing.prefix_length is not None and not demand.one_pool:
        return
    for slots in (1, 2, 4, 8, 16, 32, 64):
        if slots >= addressing.first_rail_slot + demand.rails and slots != addressing.rail_slots:
            yield {"rail_slots": slots}, f"write railSlots: {slots} (it cuts the range again, which moves addresses)"


def _earlier_first_slot(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    for slot in range(addressing.first_rail_slot - 1, -1, -1):
        yield {"first_rail_slot": slot}, f"write firstRailSlot: {slot}"


def _wider_supernet(addressing: AddressingSpec, supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    for prefix in range(supernet.prefixlen - 1, LARGEST_SUPERNET - 1, -1):
        yield {"supernet": supernet.supernet(new_prefix=prefix)}, f"use a supernet of /{prefix} or larger"


def _wider_supernet_cut_again(
    addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand
) -> Iterator[Change]:
    pinned = {"prefixLength": addressing.prefix_length, "addressesPerNode": addressing.addresses_per_node}
    keys = " and ".join(key for key, value in pinned.items() if value is not None)
    if keys:
        without: dict[str, Any] = {"prefix_length": None, "addresses_per_node": None}
        yield without, f"leave {keys} out"
        for fields, words in _wider_supernet(addressing, supernet, demand):
            yield {**fields, **without}, f"{words}, and leave {keys} out"


def _smaller_share(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    pinned, need = addressing.addresses_per_node, demand.needed_per_node
    if pinned is None:
        return
    # A prefix length beyond that of one address is refused, and the remedy is looked for all the same.
    size = 1 << max(0, supernet.max_prefixlen - part_prefix(addressing, supernet, demand))
    for share in range(min(pinned - 1, size // share_count(addressing, demand)), need - 1, -1):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _larger_share(addressing: AddressingSpec, _supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if demand.division == "prefixes":
        return
    need, kept = demand.needed_per_node, addressing.reserved_first + addressing.reserved_last
    larger = {need << doublings for doublings in range(1, 12)}
    for share in sorted(larger | set(range(need, need + demand.smallest_block + kept + 2))):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _other_node_prefix(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if demand.division != "prefixes":
        return
    for prefix in range(supernet.max_prefixlen - 1, supernet.prefixlen, -1):
        if prefix != addressing.node_prefix_length:
            yield {"node_prefix_length": prefix}, f"write nodePrefixLength: {prefix}"


def _fewer_extra_nodes(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    for spare in range(addressing.spare_nodes - 1, -1, -max(1, addressing.spare_nodes // 64)):
        yield {"spare_nodes": spare}, f"write spareNodes: {spare}"


def _drop_gateway(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.gateway != "none":
        yield {"gateway": "none"}, "set gateway: none"


def _drop_exclusions(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.exclude:
        yield {"exclude": ()}, "keep those hosts' addresses outside the supernet, and leave exclude out"
    if addressing.reserved_first or addressing.reserved_last:
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
