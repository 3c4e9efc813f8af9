"""Checks of the group `spiderpool` on pools and networks: which address an interface gets, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from ipaddress import ip_address, ip_network
from itertools import pairwise

from gpu_fabric.k8s.names import RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import SpiderIPPool
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.addresses.plan import hosts_in
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.ipam import node_pool_name
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.spiderpool import CHART
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.rules.planned_network import PlannedNetwork, planned_networks, read_network
from gpu_fabric.rules.planned_nodes import is_tainted, prepares_rdma_mode, unnamed_pools
from gpu_fabric.rules.registry import Problem, check, check_plan, in_cluster, in_fabric, in_software
from gpu_fabric.spec.places import Location, dotted

# Addresses of a pool object at most; a larger prefix has room beyond them.
_MOST_IN_POOL = 65_536
_NAMES = "give the rails network names that sort in the order of the rails"
# The key by which the webhook sorts the networks of a model, and the remedy for a wrong order.
_SORTED_BY = {
    "macvlan": ("interface on the host", "list the NICs in an order in which their interfaces sort"),
    "sriov": ("resource", "give the rails resources that sort in the order of the rails"),
    "ib-sriov": ("name", _NAMES),
    "ipoib": ("name", _NAMES),
}


@check("SPI001")
def prefixes_are_bound_to_nodes(case: Case) -> Iterator[Problem]:
    """Every node's prefix is found by the host's address on it, or by the node's name."""
    if not _has_prefixes(case) or case.choices.model == "sriov":
        return
    for pool in unnamed_pools(case):
        yield Problem(
            pool.at("nodeNames"),
            f"the layout per-node with {case.choices.model} binds each prefix to a node by its name, and pool "
            f"{pool.spec.name} names none",
            f"add nodeNames: the names of its {pool.spec.nodes} nodes, or write layout: per-rail",
        )


@check("SPI002")
def prefixes_hold_the_hosts_address(case: Case) -> Iterator[Problem]:
    """Every node's prefix has an address that neither the gateway nor a pod takes, for the host's own NIC."""
    if not _has_prefixes(case) or case.choices.model != "sriov" or not isinstance(case.addresses, AddressPlan):
        return
    for pool in case.addresses.pools:
        size = 1 << (pool.space.max_prefixlen - (pool.node_prefix_length or 0))
        hosts = hosts_in(size, pool.space.version) - (pool.gateway_position != "none")
        # Without exclusions all prefixes are alike.
        nodes = range(case.nodes if pool.excluded else 1)
        short = [node for node in nodes if hosts <= min(pool.share(node).count, _MOST_IN_POOL)]
        if short:
            least = 1 + (case.spec.fabric.addressing.gateway == "first")
            yield Problem(
                in_fabric("addressing", "reservedFirst"),
                f"pods may take every address of {pool.node_prefix(short[0])}, the host's own NIC's too",
                f"write reservedFirst: {least}, and give the NIC the last of them",
            )
            return


@check("SPI003")
def jobs_get_a_device(case: Case) -> Iterator[Problem]:
    """A job's interface comes with an RDMA device."""
    if case.choices.model in manager_of(case).models_without_rdma:
        yield Problem(in_fabric("model"))


@check("SPI004")
def some_node_has_no_taint(case: Case) -> Iterator[Problem]:
    """The chart's own jobs find a node that they may run on."""
    if CHART.wanted(case) and is_tainted(case):
        yield Problem(in_cluster("pools"))


@check_plan("SPI006")
def patterns_match_one_rail(case: Case, plan: Plan) -> Iterator[Problem]:
    """The pools that a rail's network matches are that rail's, and no other's."""
    if plan.choices.ipam != "spiderpool":
        return
    owners = _owners(plan)
    rails = {rail.network: rail.index for rail in plan.rails}
    patterns = {
        (rails[network.name], pool.name)
        for network in planned_networks(plan)
        for pool in network.pools
        if network.name in rails
    }
    for rail, pattern in sorted(patterns):
        matches = re.compile(translate(pattern)).match
        others = {owner for name, owner in owners.items() if matches(name)} - {rail}
        if others:
            yield Problem(
                dotted(_name_place(case, {rail, *others})),
                f"the pools {pattern} of rail {rail} match pools of rail {', '.join(map(str, sorted(others)))} as well",
            )


@check("SPI008")
def nodes_reach_each_others_subnets(case: Case) -> Iterator[Problem]:
    """Where every node has a subnet of its own on a rail, a router leads to the others."""
    if _has_prefixes(case) and case.spec.fabric.addressing.gateway == "none":
        yield Problem(in_fabric("addressing", "gateway"))


@check("SPI009")
def hosts_hold_their_address(case: Case) -> Iterator[Problem]:
    """Every rail's NIC gets its address in the node's prefix, by which the prefix is found."""
    wanted = case.spec.fabric.host_preparation
    given = wanted.addresses and not wanted.dry_run
    if _has_prefixes(case) and case.choices.model == "sriov" and not given and isinstance(case.addresses, AddressPlan):
        first = case.addresses.pools[0]
        kept = first.host_address(case.addresses.numbers[0])
        yield Problem(
            in_fabric("hostPreparation", "addresses"),
            "a virtual function's pool is found by the address of its NIC on the host, and this stack gives NICs none",
            "write true, with nodeNames and without dryRun, or give every NIC an address that is reserved in its "
            "node's prefix before jobs run" + (f", such as {kept} on the first node's rail 0" if kept else ""),
        )


@check("SPI010")
def nodes_are_put_into_mode_exclusive(case: Case) -> Iterator[Problem]:
    """The nodes are switched to RDMA mode exclusive where the model works in no other."""
    row = case.choices.row
    if row is None or prepares_rdma_mode(case) or "shared" in row.rdma_modes:
        return
    yield Problem(
        in_fabric("hostPreparation", "rdmaMode"),
        f"{row.model} by Spiderpool needs nodes in RDMA mode exclusive, and nothing in this stack puts them into it",
    )


@check_plan("SPI011")
def networks_are_injected_in_rail_order(case: Case, plan: Plan) -> Iterator[Problem]:
    """The webhook adds the networks in the order of the rails, so that interfaces have the contract's names."""
    word = manager_of(case).injection
    if word is None:
        return
    found = [read_network(planned) for planned in plan.applied("networks") if _injection_word(planned) == word]
    order = [network.name for network in sorted(found, key=_injection_key)]
    promised = [network.network for network in plan.workload.networks]
    if order == promised:
        return
    place = next((number for number, pair in enumerate(zip(order, promised, strict=False)) if len(set(pair)) > 1), 0)
    what, remedy = _SORTED_BY[plan.choices.model]
    yield Problem(
        in_software("spiderpool", "injection"),
        f"the webhook adds networks in the order of their {what} as text, in which rail {place} comes at another place",
        f"{remedy}, or leave injection out and let pods name their networks",
    )


@check_plan("SPI021")
def pools_share_no_address(case: Case, plan: Plan) -> Iterator[Problem]:
    """No two pools overlap: subnets are equal or disjoint, and pools of one subnet have different addresses."""
    made = [entry.object for entry in plan.applied("ip-pools", "node-pools") if isinstance(entry.object, SpiderIPPool)]
    if clash := _overlap_of(made):
        yield Problem(in_fabric("addressing"), clash)


def _has_prefixes(case: Case) -> bool:
    return case.choices.ipam == "spiderpool" and case.choices.layout == "per-node"


def _owners(plan: Plan) -> dict[str, int]:
    """The rail of every pool object, by the object's name."""
    pools = plan.addresses.pools
    owners = {pool.name: pool.rails[0] for pool in pools if pool.node_prefix_length is None}
    return owners | {
        node_pool_name(pool, number): pool.rails[0]
        for pool in pools
        if pool.node_prefix_length is not None
        for number in plan.addresses.numbers
    }


def _name_place(case: Case, rails: set[int]) -> Location:
    """Where one of the rails is given its name; the list of rails where none is."""
    for place, entry in enumerate(case.spec.fabric.rails):
        if entry.rail in rails and entry.network is not None:
            return ("fabric", "rails", place, "network")
    return ("fabric", "rails")


def _injection_word(planned: PlannedObject) -> str | None:
    """By which word a network is injected."""
    return (planned.object.metadata.annotations or {}).get(RDMA_RESOURCE_INJECT_ANNOTATION)


def _injection_key(network: PlannedNetwork) -> str:
    """What the webhook sorts networks by."""
    if network.plugin == "macvlan":
        return network.host_interface or ""
    return network.resource or "" if network.plugin == "sriov" else f"{network.namespace}/{network.name}"


def _overlap_of(pools: list[SpiderIPPool]) -> str | None:
    """The first two pools that the API would not take together; None where there are none."""
    networks = sorted(
        ((ip_network(pool.spec.subnet), pool) for pool in pools),
        key=lambda entry: (entry[0].version, int(entry[0].network_address), entry[0].prefixlen),
    )
    for (one, first), (other, second) in pairwise(networks):
        if one != other and one.version == other.version and int(one.broadcast_address) >= int(other.network_address):
            return f"the pools {first.metadata.name} and {second.metadata.name} have the subnets {one} and {other}"
    by_subnet: dict[str, list[tuple[int, int, str]]] = {}
    for pool in pools:
        spans = (text.partition("-") for text in pool.spec.ips or ())
        by_subnet.setdefault(pool.spec.subnet, []).extend(
            (int(ip_address(first)), int(ip_address(last or first)), pool.metadata.name) for first, _, last in spans
        )
    for subnet, ranges in by_subnet.items():
        for (_, last, name), (begin, _, follower) in pairwise(sorted(ranges)):
            if begin <= last:
                return f"the pools {name} and {follower} of {subnet} both have {ip_address(begin)}"
    return None
