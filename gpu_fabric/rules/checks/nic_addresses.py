"""Checks of the group `host_preparation` on addresses: every rail's NIC on every node can be given one of its own."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.addresses import AddressPlan, AddressPool, Refusal
from gpu_fabric.plan.addresses.capacity import pools_of
from gpu_fabric.plan.addresses.remedies import remedy
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted

_JOB = dotted(("fabric", "hostPreparation", "addresses"))


def _at(key: str) -> str:
    return dotted(("fabric", "addressing", key))


@check("HPR003")
def addresses_are_of_named_nodes(case: Case) -> Iterator[Problem]:
    """Addresses are given to nodes that the stack file names."""
    if not _wanted(case):
        return
    for place, pool in enumerate(case.spec.cluster.pools):
        if not pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"hostPreparation.addresses gives each node its own addresses by its name, and pool {pool.name} names "
                "none",
                f"add nodeNames: the names of its {pool.nodes} nodes, or leave hostPreparation.addresses out",
            )


@check("HPR004")
def rails_have_subnets_for_hosts(case: Case) -> Iterator[Problem]:
    """Addresses are given to NICs of which each has its rail's own pool."""
    if not case.spec.fabric.host_preparation.addresses:
        return
    if case.choices.layout == "none":
        yield Problem(
            _JOB, "the layout none plans no addresses", "leave it out, or write a layout with addresses and a supernet"
        )
    elif case.demand.one_pool:
        yield Problem(
            _JOB,
            f"all {case.demand.rails} rails share one pool, in which a node has one address and not one a NIC",
            "leave it out, or write addressing.layout: per-rail",
        )


@check("HPR006")
def enough_addresses_are_reserved(case: Case) -> Iterator[Problem]:
    """Of every pool as many addresses are reserved as hosts need, spare and surge nodes' included."""
    if not _wanted(case) or not isinstance(case.addresses, AddressPlan):
        return
    pool = case.addresses.pools[0]
    shared = pool.node_prefix_length is None
    needed, there = _needed(case, pool), _for_hosts(pool)
    if there >= needed:
        return
    key = "reservedLast" if _at_end(pool) else "reservedFirst"
    kept = "spare or surge" if case.demand.hosts == case.nodes else "spare, surge or kept between"
    extra = f", {needed - case.nodes} of them {kept}" if needed > case.nodes else ""
    yield Problem(
        _at(key),
        f"each rail's subnet keeps {there} address{'es' if there != 1 else ''} for hosts, and there are {needed} nodes"
        f"{extra}"
        if shared
        else "each node's prefix keeps no address for the host's own NIC",
        _enough(case, pool, needed, key) + (", with room for nodes to come" if shared else ""),
    )


def _needed(case: Case, pool: AddressPool) -> int:
    """Addresses of a subnet that hosts hold."""
    addressing = case.spec.fabric.addressing
    shared = pool.node_prefix_length is None
    return case.demand.hosts + addressing.spare_nodes + addressing.surge_nodes if shared else 1


def _for_hosts(pool: AddressPool) -> int:
    """Addresses of a subnet that are reserved for hosts."""
    at_end = _at_end(pool)
    router = pool.gateway_position == ("last" if at_end else "first")
    return max(0, (pool.reserved_last if at_end else pool.reserved_first) - router)


def _enough(case: Case, pool: AddressPool, needed: int, key: str) -> str:
    """The change that reserves enough and leaves every pod its address: the other end where this one does not."""
    addressing, refused = case.spec.fabric.addressing, None
    assert addressing.supernet is not None, "a plan with pools has one"
    ends = {"reservedFirst": "first", "reservedLast": "last"}
    for end in sorted(ends, key=lambda name: name != key):
        number = needed + (pool.gateway_position == ends[end])
        changed = addressing.model_copy(update={f"reserved_{ends[end]}": number})
        found = pools_of(changed, addressing.supernet, case.demand)
        if isinstance(found, Refusal):
            refused = refused or (number, remedy(changed, addressing.supernet, case.demand, found))
        elif _for_hosts(found[0]) >= needed:
            return f"write {end}: {number} or more"
    number, also = refused or (needed, "")
    return f"write {key}: {number} or more" + (f", and with it {also}" if also else "")


@check("HPR007")
def hosts_get_no_excluded_address(case: Case) -> Iterator[Problem]:
    """No host is given an address that the stack file excludes as somebody's."""
    if not _wanted(case) or not isinstance(case.addresses, AddressPlan):
        return
    spans = [(int(span.first), int(span.last)) for span in case.spec.fabric.addressing.exclude]
    if not spans:
        return
    given = [
        (int(address), str(address))
        for pool in case.addresses.pools
        for number in case.addresses.host_numbers
        if (address := pool.host_address(number)) is not None
    ]
    for place, (first, last) in enumerate(spans):
        taken = [text for value, text in given if first <= value <= last]
        if taken:
            more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
            yield Problem(
                dotted(("fabric", "addressing", "exclude", place)),
                f"hostPreparation.addresses gives {taken[0]}{more} of it to a host",
                "leave it out if it is the hosts' own; else reserve other addresses for hosts",
            )


@check("HPR016")
def infiniband_nics_have_an_interface(case: Case) -> Iterator[Problem]:
    """The reader knows that InfiniBand NICs can hold addresses only with their module."""
    wanted = case.spec.fabric.host_preparation
    if wanted.addresses and case.choices.link_type == "infiniband" and not wanted.ipoib:
        yield Problem(
            _JOB,
            "InfiniBand NICs have an interface that can hold an address only where the module ib_ipoib is loaded",
            "add hostPreparation.ipoib: true, unless the node image loads it",
        )


def _wanted(case: Case) -> bool:
    """Whether addresses are asked for and pools to take them from can be planned."""
    return case.spec.fabric.host_preparation.addresses and case.choices.layout != "none" and not case.demand.one_pool


def _at_end(pool: AddressPool) -> bool:
    """Whether hosts have the last addresses: they have the first ones wherever some of those are reserved."""
    first = pool.reserved_first > (pool.gateway_position == "first")
    return not first and pool.reserved_last > (pool.gateway_position == "last")
