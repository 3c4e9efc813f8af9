"""The smallest changes of the stack file that make a refused address plan fit; each one is tried before it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gpu_fabric.plan.addresses.capacity import Refusal, pools_of
from gpu_fabric.plan.addresses.demand import LARGEST_SUPERNET, AddressDemand, part_prefix, wanted_nodes
from gpu_fabric.spec import AddressingSpec
from gpu_fabric.spec.network_types import IPNetwork

Change = tuple[dict[str, Any], str]
"""Fields of `Addressing` with new values, and the change in words."""

# A refusal is answered in well under a second, however large the numbers in the stack file.
_MOST_TRIES = 200

_Search = Callable[[AddressingSpec, IPNetwork, AddressDemand], Iterator[Change]]


def remedy(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand, refusal: Refusal) -> str:
    """The proposals in one sentence: of each kind of change the smallest that fits, the gentlest kind first."""
    changes = fitting_changes(addressing, supernet, demand, refusal)
    if not changes:
        return "ask for fewer nodes or addresses: no single change of `addressing` fits"
    return ", or ".join(words for _, words in changes)


def fitting_changes(
    addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand, refusal: Refusal
) -> tuple[Change, ...]:
    """The proposals, each of which makes the plan fit; two keys are changed only where no single one helps."""
    found = [
        change
        for search in _SEARCHES[refusal.kind]
        if (change := _first_fitting(search, addressing, supernet, demand)) is not None
    ]
    if not found:
        # What a refusal is about may be no matter of the keys that it names first.
        others = (_left_out, *dict.fromkeys(search for searches in _SEARCHES.values() for search in searches))
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


def _automatic_subnets(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.prefix_length is not None:
        yield {"prefix_length": None}, "leave prefixLength out"


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
        for fields, words in _wider_supernet(addressing, supernet, demand):
            yield {**fields, "prefix_length": None, "addresses_per_node": None}, f"{words}, and leave {keys} out"


def _left_out(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    """Every key that is stated, left to its default."""
    for name, key in _stated(addressing).items():
        yield {name: AddressingSpec.model_fields[name].default}, f"leave {key} out"


def _stated(addressing: AddressingSpec) -> dict[str, str]:
    """Names of fields that are stated otherwise than by default, with their keys in the stack file."""
    fields = AddressingSpec.model_fields
    kept = ("supernet", "layout", "ipam")
    return {
        name: info.alias or name
        for name, info in fields.items()
        if name not in kept and getattr(addressing, name) != info.default
    }


def _smaller_share(addressing: AddressingSpec, supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    pinned, need = addressing.addresses_per_node, demand.needed_per_node
    if pinned is None:
        return
    size = 1 << (supernet.max_prefixlen - part_prefix(addressing, supernet, demand))
    for share in range(min(pinned - 1, size // wanted_nodes(addressing, demand)), need - 1, -1):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _automatic_share(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.addresses_per_node is not None:
        yield {"addresses_per_node": None}, "leave addressesPerNode out"


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


def _without_gateway(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.gateway != "none":
        yield {"gateway": "none"}, "set gateway: none"


def _without_exclusions(addressing: AddressingSpec, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.exclude:
        yield {"exclude": ()}, "keep those hosts' addresses outside the supernet, and leave exclude out"
    if addressing.reserved_first or addressing.reserved_last:
        yield {"reserved_first": 0, "reserved_last": 0}, "leave reservedFirst and reservedLast out"


_SEARCHES: dict[str, tuple[_Search, ...]] = {
    "capacity": (
        _fewer_extra_nodes,
        _larger_subnets,
        _smaller_share,
        _automatic_share,
        _other_node_prefix,
        _other_slots,
        _wider_supernet,
    ),
    "share": (_other_node_prefix, _larger_share, _automatic_share, _wider_supernet),
    "gateway": (_larger_share, _without_gateway),
    "exclusion": (_larger_share, _other_node_prefix, _without_exclusions),
    "cut": (_earlier_first_slot, _larger_subnets, _automatic_subnets, _other_slots, _wider_supernet),
}
