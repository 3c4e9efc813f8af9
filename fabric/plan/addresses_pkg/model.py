"""The address plan: which subnet each rail gets, and the proof that every node has its share.

nv-ipam cuts a pool's host addresses into blocks of equal size and gives each node one; so a pool serves
`floor(usable / block)` nodes (source: nv-ipam's pool documentation and validation rules).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

from fabric.model import FrozenModel
from fabric.rules import Finding, finding
from fabric.spec import Addressing, AddressRanges
from fabric.spec.problems import dotted

_SUPERNET = dotted(("fabric", "addressing", "supernet"))
# Prefix length. Versions of nv-ipam differ on whether a /31 has addresses to give; a fabric needs more than two anyway.
_SMALLEST = 30


class AddressPool(FrozenModel):
    """One subnet with its share per node. `rails` are the rails it serves; counts are addresses unless named nodes.

    `usable` leaves out network and broadcast address; `needed` is what the planned nodes take; `max_nodes` is how many
    nodes the pool can ever serve.
    """

    name: str
    rails: tuple[int, ...]
    subnet: IPv4Network
    gateway: IPv4Address | None
    addresses_per_node: int
    usable: int
    needed: int
    max_nodes: int

    @property
    def headroom(self) -> int:
        """Addresses that stay free."""
        return self.usable - self.needed


class RangeInUse(FrozenModel):
    """A range that the fabric was proved not to touch."""

    name: str
    range: IPv4Network


class CapacityProof(FrozenModel):
    """Why the plan holds. `needed_per_node` is what a full node takes from each pool.

    `next_subnet` is the size of pool that serves more nodes than `max_nodes`, `next_supernet` the smallest supernet
    that holds one for every pool.
    """

    nodes: int
    spare_nodes: int
    needed_per_node: int
    max_nodes: int
    next_subnet: str
    next_supernet: str
    disjoint_from: tuple[RangeInUse, ...]
    not_stated: tuple[str, ...]


class AddressPlan(FrozenModel):
    """All fabric addresses of a stack."""

    layout: str
    supernet: IPv4Network
    pools: tuple[AddressPool, ...]
    proof: CapacityProof

    def pool_of(self, rail: int) -> AddressPool:
        """The pool that serves a rail."""
        return next(pool for pool in self.pools if rail in pool.rails)


def pool_names(layout: str, rails: int) -> dict[str, tuple[int, ...]]:
    """Pools of a layout with the rails each serves; numbers are zero-padded so that text order is rail order."""
    if layout == "flat":
        return {"rdma-fabric": tuple(range(rails))}
    return {f"rail-{rail:02d}": (rail,) for rail in range(rails)}


def plan_addresses(
    addressing: Addressing, ranges: AddressRanges, *, rails: int, vfs_per_nic: int, nodes: int
) -> tuple[AddressPlan | None, tuple[Finding, ...]]:
    """The plan, or None with the findings that say why nothing fits and what would.

    A rail's subnet depends on the supernet, the layout and the rail's number alone, so adding nodes moves no address.
    """
    serving = pool_names(addressing.layout, rails)
    needed_per_node = vfs_per_nic * (rails if addressing.layout == "flat" else 1)
    with_gateway = addressing.gateway != "none"
    block = addressing.addresses_per_node or needed_per_node + with_gateway
    problems = [*_overlaps(addressing.supernet, ranges)]
    if block < needed_per_node:
        problems.append(
            finding(
                "ADR001",
                dotted(("fabric", "addressing", "addressesPerNode")),
                f"a node takes {needed_per_node} addresses from each pool, {block} are too few",
                f"write {needed_per_node + with_gateway} or more, or leave it out",
            )
        )
    wanted = nodes + addressing.spare_nodes
    subnets = _subnets(addressing, len(serving))
    if subnets is None or _blocks(subnets[0], block) < wanted:
        return None, (*problems, _does_not_fit(addressing, len(serving), block, needed_per_node + with_gateway, wanted))
    pools = tuple(
        AddressPool(
            name=name,
            rails=served,
            subnet=subnet,
            gateway=_gateway(subnet, addressing.gateway),
            addresses_per_node=block,
            usable=_usable(subnet),
            needed=wanted * block,
            max_nodes=_blocks(subnet, block),
        )
        for (name, served), subnet in zip(serving.items(), subnets, strict=False)
    )
    problems.extend(_starved_by_gateway(pools[0], needed_per_node))
    if any(first.subnet.overlaps(second.subnet) for first, second in pairwise(pools)):
        raise AssertionError("a supernet cut into subnets of one length cannot overlap")
    proof = CapacityProof(
        nodes=nodes,
        spare_nodes=addressing.spare_nodes,
        needed_per_node=needed_per_node,
        max_nodes=min(pool.max_nodes for pool in pools),
        next_subnet=f"/{_subnet_prefix(block, pools[0].max_nodes + 1)}",
        next_supernet=f"/{_supernet_prefix(len(pools), block, pools[0].max_nodes + 1)}",
        disjoint_from=tuple(RangeInUse(name=name, range=network) for name, network in _stated(ranges)),
        not_stated=_not_stated(ranges),
    )
    return AddressPlan(layout=addressing.layout, supernet=addressing.supernet, pools=pools, proof=proof), tuple(
        problems
    )


def _usable(subnet: IPv4Network) -> int:
    return subnet.num_addresses - 2


def _blocks(subnet: IPv4Network, block: int) -> int:
    return _usable(subnet) // block


def _subnets(addressing: Addressing, count: int) -> list[IPv4Network] | None:
    """The first `count` subnets of the supernet, or None when it has fewer of a size that can serve."""
    supernet = addressing.supernet
    prefix = addressing.prefix_length or supernet.prefixlen + _doublings(count)
    if not supernet.prefixlen <= prefix <= _SMALLEST or 1 << (prefix - supernet.prefixlen) < count:
        return None
    size = 1 << (32 - prefix)
    base = int(supernet.network_address)
    return [IPv4Network((base + place * size, prefix)) for place in range(count)]


def _doublings(count: int) -> int:
    return (count - 1).bit_length()


def _supernet_prefix(pools: int, block: int, nodes: int) -> int:
    """Prefix length of the smallest supernet whose equal parts each serve that many nodes; negative if none does."""
    return _subnet_prefix(block, nodes) - _doublings(pools)


def _subnet_prefix(block: int, nodes: int) -> int:
    """Prefix length of the smallest subnet that serves that many nodes."""
    return min(_SMALLEST, 32 - (nodes * block + 1).bit_length())


def _does_not_fit(addressing: Addressing, pools: int, block: int, least_block: int, wanted: int) -> Finding:
    supernet = addressing.supernet
    subnets = _subnets(addressing, pools)
    nodes = f"{wanted} nodes" + (f" ({addressing.spare_nodes} of them spare)" if addressing.spare_nodes else "")
    if subnets is None:
        size = f"/{addressing.prefix_length}" if addressing.prefix_length else f"/{_SMALLEST} or larger"
        message = f"{supernet} cannot be cut into {pools} subnets of {size}"
    else:
        message = (
            f"{nodes} x {block} addresses = {wanted * block} per pool, but {subnets[0]} has "
            f"{_usable(subnets[0])} usable and so serves {_blocks(subnets[0], block)} nodes"
        )
    needed = _supernet_prefix(pools, block, wanted)
    remedies = []
    if needed >= 0:
        pinned = f"a prefixLength of {_subnet_prefix(block, wanted)} within " if addressing.prefix_length else ""
        remedies.append(f"{pinned}a supernet of /{needed} or larger")
    affordable = _usable(subnets[0]) // wanted if subnets else 0
    if least_block <= affordable < block:
        remedies.append(f"addressesPerNode of at most {affordable}")
    return finding("ADR001", _SUPERNET, message, f"use {', or '.join(remedies) or 'fewer addresses'}")


def _gateway(subnet: IPv4Network, position: str) -> IPv4Address | None:
    if position == "none":
        return None
    return subnet.network_address + 1 if position == "first" else subnet.broadcast_address - 1


def _starved_by_gateway(pool: AddressPool, needed_per_node: int) -> Iterator[Finding]:
    if pool.gateway is None or pool.addresses_per_node > needed_per_node:
        return
    offset = int(pool.gateway) - int(pool.subnet.network_address) - 1
    if offset < pool.max_nodes * pool.addresses_per_node:
        yield finding(
            "ADR004",
            dotted(("fabric", "addressing", "addressesPerNode")),
            f"gateway {pool.gateway} lies in one node's block of {pool.addresses_per_node}, which then has "
            f"{pool.addresses_per_node - 1} of the {needed_per_node} addresses the node takes",
            f"write {needed_per_node + 1} or more, leave addressesPerNode out, or set gateway: none",
        )


def _stated(ranges: AddressRanges) -> list[tuple[str, IPv4Network]]:
    named = [("pods", ranges.pods), ("services", ranges.services), ("nodes", ranges.nodes)]
    stated = [(name, network) for name, network in named if network is not None]
    return stated + [(f"reserved[{place}]", network) for place, network in enumerate(ranges.reserved)]


def _not_stated(ranges: AddressRanges) -> tuple[str, ...]:
    return tuple(name for name in ("pods", "services", "nodes") if getattr(ranges, name) is None)


def _overlaps(supernet: IPv4Network, ranges: AddressRanges) -> Iterator[Finding]:
    for name, network in _stated(ranges):
        if network.overlaps(supernet):
            yield finding(
                "ADR002",
                _SUPERNET,
                f"{supernet} overlaps {network}, the cluster's {name} range",
                f"use a supernet outside {', '.join(str(taken) for _, taken in _stated(ranges))}",
            )
    if missing := _not_stated(ranges):
        yield finding(
            "ADR003",
            dotted(("cluster", "ranges")),
            f"the {', '.join(missing)} range{'s are' if len(missing) > 1 else ' is'} not stated",
            f"add ranges: {{{', '.join(f'{name}: <CIDR>' for name in missing)}}} so that overlaps are found here",
        )
