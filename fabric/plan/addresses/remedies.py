"""The smallest changes of the stack file that make a refused address plan fit; each one is tried before it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fabric.plan.addresses.capacity import Refusal, pools_of
from fabric.plan.addresses.demand import AddressDemand, slot_bits
from fabric.spec import Addressing
from fabric.spec.network_types import IPNetwork

Change = tuple[dict[str, Any], str]
"""Fields of `Addressing` with new values, and the change in words."""

_Search = Callable[[Addressing, IPNetwork, AddressDemand], Iterator[Change]]


def remedy(addressing: Addressing, supernet: IPNetwork, demand: AddressDemand, refusal: Refusal) -> str:
    """The proposals in one sentence: of each kind of change the smallest that fits, the gentlest kind first."""
    said = []
    for search in _SEARCHES[refusal.kind]:
        for fields, words in search(addressing, supernet, demand):
            changed = addressing.model_copy(update=fields)
            if not isinstance(pools_of(changed, changed.supernet or supernet, demand), Refusal):
                said.append(words)
                break
    return ", or ".join(said) if said else "ask for fewer nodes or addresses: no single change of `addressing` fits"


def _larger_subnets(addressing: Addressing, supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    pinned = addressing.prefix_length
    if pinned is not None:
        for prefix in sorted(range(supernet.prefixlen, supernet.max_prefixlen), key=lambda size: abs(size - pinned)):
            yield {"prefix_length": prefix}, f"write prefixLength: {prefix}"


def _automatic_subnets(addressing: Addressing, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.prefix_length is not None:
        yield {"prefix_length": None}, "leave prefixLength out"


def _other_slots(addressing: Addressing, _supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if addressing.prefix_length is not None or demand.one_pool:
        return
    for slots in (1, 2, 4, 8, 16, 32, 64):
        if slots >= demand.rails and slots != addressing.rail_slots:
            yield {"rail_slots": slots}, f"write railSlots: {slots} (it cuts the supernet anew, which moves addresses)"


def _wider_supernet(addressing: Addressing, supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    for prefix in range(supernet.prefixlen - 1, 0, -1):
        wider = supernet.supernet(new_prefix=prefix)
        yield {"supernet": wider}, f"use a supernet of /{prefix} or larger"
        if addressing.addresses_per_node is not None:
            words = f"use a supernet of /{prefix} or larger, and leave addressesPerNode out"
            yield {"supernet": wider, "addresses_per_node": None}, words
        if addressing.prefix_length is not None:
            part = prefix + (0 if demand.one_pool else slot_bits(addressing))
            words = f"use a supernet of /{prefix} or larger with prefixLength: {part}"
            yield {"supernet": wider, "prefix_length": part}, words
            yield (
                {"supernet": wider, "prefix_length": part, "addresses_per_node": None},
                (f"{words}, and leave addressesPerNode out"),
            )


def _smaller_share(addressing: Addressing, _supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if demand.division != "blocks" or addressing.addresses_per_node is None:
        return
    for share in range(addressing.addresses_per_node - 1, demand.needed_per_node - 1, -1):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _larger_share(addressing: Addressing, _supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if demand.division == "prefixes":
        return
    kept = addressing.reserved_first + addressing.reserved_last
    for share in range(demand.needed_per_node, demand.needed_per_node + demand.smallest_block + kept + 2):
        yield {"addresses_per_node": share}, f"write addressesPerNode: {share}"


def _other_node_prefix(addressing: Addressing, supernet: IPNetwork, demand: AddressDemand) -> Iterator[Change]:
    if demand.division != "prefixes":
        return
    for prefix in range(supernet.max_prefixlen - 1, supernet.prefixlen, -1):
        if prefix != addressing.node_prefix_length:
            yield {"node_prefix_length": prefix}, f"write nodePrefixLength: {prefix}"


def _fewer_extra_nodes(addressing: Addressing, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    for spare in range(addressing.spare_nodes - 1, -1, -max(1, addressing.spare_nodes // 64)):
        yield {"spare_nodes": spare}, f"write spareNodes: {spare}"


def _without_gateway(addressing: Addressing, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.gateway != "none":
        yield {"gateway": "none"}, "set gateway: none"


def _without_exclusions(addressing: Addressing, _supernet: IPNetwork, _demand: AddressDemand) -> Iterator[Change]:
    if addressing.exclude:
        yield {"exclude": ()}, "keep those hosts' addresses outside the supernet, and leave exclude out"
    if addressing.reserved_first or addressing.reserved_last:
        yield {"reserved_first": 0, "reserved_last": 0}, "leave reservedFirst and reservedLast out"


_SEARCHES: dict[str, tuple[_Search, ...]] = {
    "capacity": (
        _fewer_extra_nodes,
        _larger_subnets,
        _smaller_share,
        _other_node_prefix,
        _other_slots,
        _wider_supernet,
    ),
    "share": (_other_node_prefix, _larger_share, _wider_supernet),
    "gateway": (_larger_share, _without_gateway),
    "exclusion": (_larger_share, _other_node_prefix, _without_exclusions),
    "cut": (_larger_subnets, _automatic_subnets, _other_slots, _wider_supernet),
}
