"""Checks of the address plan and of the ranges in use: the plan fits, and it overlaps nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.plan.addresses import AddressPlan, Refusal, stated_ranges
from gpu_fabric.plan.addresses.plan import Growth
from gpu_fabric.plan.case import Case, pool_shares
from gpu_fabric.rules.ranges import has_overlap
from gpu_fabric.rules.registry import Problem, check, in_cluster, in_fabric

_at = partial(in_fabric, "addressing")


def _refusals(case: Case, kind: str) -> Iterator[Problem]:
    if isinstance(case.addresses, Refusal) and case.addresses.kind == kind:
        yield Problem(_at(case.addresses.key), case.addresses.message, case.addresses.remedy)


@check("ADR001")
def addresses_fit(case: Case) -> Iterator[Problem]:
    """Every pool holds what all nodes take, spare and surge nodes included."""
    yield from _refusals(case, "capacity")


@check("ADR002")
def ranges_are_disjoint(case: Case) -> Iterator[Problem]:
    """The supernet overlaps no range that the stack file names as in use."""
    supernet = case.spec.fabric.addressing.supernet
    stated = stated_ranges(case.spec.cluster.ranges)
    for name, network in stated:
        if case.demand.layout != "none" and has_overlap(supernet, network):
            yield Problem(
                _at("supernet"),
                f"{supernet} overlaps {network}, the cluster's {name} range",
                f"use a supernet outside {', '.join(str(taken) for _, taken in stated)}",
            )


@check("ADR003")
def ranges_are_stated(case: Case) -> Iterator[Problem]:
    """The cluster's own ranges are known, so that an overlap can be ruled out."""
    missing = case.spec.cluster.ranges.not_stated(case.spec.cluster.ranges_within)
    if missing and case.demand.layout != "none":
        yield Problem(
            in_cluster("ranges"),
            f"the {', '.join(missing)} range{'s are' if len(missing) > 1 else ' is'} not stated",
            f"add ranges: {{{', '.join(f'{name}: <CIDR>' for name in missing)}}} so that overlaps are found here",
        )


@check("ADR004")
def gateway_leaves_every_node_its_addresses(case: Case) -> Iterator[Problem]:
    """The gateway is in no node's block that would then be one address short."""
    yield from _refusals(case, "gateway")


@check("ADR005")
def layout_has_a_supernet(case: Case) -> Iterator[Problem]:
    """A layout with addresses has a range to take them from."""
    if case.addresses is None and case.demand.rails:
        yield Problem(_at("supernet"), f"the layout {case.demand.layout} needs a supernet")


@check("ADR006")
def pools_stay_within_limits(case: Case) -> Iterator[Problem]:
    """No pool outgrows what its controller or its store can hold."""
    if not isinstance(case.addresses, AddressPlan):
        return
    for limit in case.addresses.proof.limits:
        if limit.value > limit.limit:
            wanted = case.addresses.proof.wanted
            yield Problem(
                _at("layout"),
                f"{wanted} nodes need {limit.value} {limit.unit}, above the limit of {limit.limit} on {limit.name}: "
                f"it allows {limit.nodes} nodes ({limit.source})",
                f"plan at most {limit.nodes} nodes a stack, spare and surge nodes included",
            )


@check("ADR007")
def supernet_can_be_cut(case: Case) -> Iterator[Problem]:
    """The supernet holds an aligned subnet for every rail."""
    yield from _refusals(case, "cut")


@check("ADR008")
def share_holds_what_a_node_takes(case: Case) -> Iterator[Problem]:
    """A node's block or prefix holds an address for every pod on every NIC."""
    yield from _refusals(case, "share")


@check("ADR009")
def exclusions_leave_every_node_its_addresses(case: Case) -> Iterator[Problem]:
    """No node's share is used up by reserved or excluded addresses."""
    yield from _refusals(case, "exclusion")


@check("ADR010")
def exclusions_are_in_the_supernet(case: Case) -> Iterator[Problem]:
    """Every excluded range is inside the supernet."""
    addressing = case.spec.fabric.addressing
    supernet = addressing.supernet
    if supernet is None:
        return
    for place, span in enumerate(addressing.exclude):
        if span.first not in supernet or span.last not in supernet:
            yield Problem(
                in_fabric("addressing", "exclude", place),
                f"{span} is not in the supernet {supernet}",
                f"write addresses within {supernet}, or leave it out",
            )


@check("ADR011")
def every_key_has_an_effect(case: Case) -> Iterator[Problem]:
    """No key is given that the layout or the IPAM does not look at."""
    layout, given = case.demand.layout, case.spec.fabric.addressing.model_fields_set
    useless = {
        "none": {
            "supernet", "rail_slots", "first_rail_slot", "prefix_length", "node_prefix_length", "addresses_per_node",
            "gateway", "reserved_first", "reserved_last", "exclude", "spare_nodes", "surge_nodes", "growth_step",
        },
        "flat": {"node_prefix_length", "first_rail_slot"} if case.demand.one_pool else {"node_prefix_length"},
        "per-rail": {"node_prefix_length"},
        "per-node": set[str](),
    }[layout]  # fmt: skip
    for field in sorted(useless & given):
        info = type(case.spec.fabric.addressing).model_fields[field]
        yield Problem(_at(info.alias or field), f"it has no effect with the layout {layout}")


@check("ADR012")
def whereabouts_stays_small(case: Case) -> Iterator[Problem]:
    """Whereabouts serves no more pods, and no more addresses of one range, than it can in time."""
    if case.choices.ipam != "whereabouts" or not isinstance(case.addresses, AddressPlan):
        return
    pods, limits = case.nodes * case.pods_per_nic, case.known.address_limits
    in_range = pods * max((len(pool.rails) for pool in case.addresses.pools), default=0)
    if pods > limits.whereabouts_pods.value or in_range > limits.whereabouts_in_range.value:
        yield Problem(
            _at("ipam"),
            f"Whereabouts would hand {case.demand.rails} addresses to each of {pods} pods, {in_range:,} of one range, "
            "one at a time",
        )


@check("ADR013")
def number_of_pools_is_proven(case: Case) -> Iterator[Problem]:
    """Spiderpool is not asked for more pools than anyone reports."""
    pools = case.nodes * case.demand.rails
    known = case.known.address_limits.spiderpool_pools.value
    if case.choices.ipam == "spiderpool" and case.demand.layout == "per-node" and pools > known:
        yield Problem(_at("layout"), f"the layout per-node creates {pools} SpiderIPPools, one a node and rail")


@check("ADR014")
def supernet_is_for_hosts(case: Case) -> Iterator[Problem]:
    """The supernet holds no addresses that hosts must not have."""
    supernet = case.spec.fabric.addressing.supernet
    for special in case.known.special_ranges:
        if special.hosts == "no" and has_overlap(supernet, special.range):
            yield Problem(
                _at("supernet"),
                f"{supernet} holds addresses of {special.range}, which is for {special.use} ({special.source})",
            )


@check("ADR015")
def supernet_is_private(case: Case) -> Iterator[Problem]:
    """The supernet is in private ranges."""
    supernet = case.spec.fabric.addressing.supernet
    if supernet is None or case.demand.layout == "none":
        return
    special = [entry for entry in case.known.special_ranges if has_overlap(supernet, entry.range)]
    unusable = any(entry.hosts == "no" for entry in special)
    if not unusable and not any(entry.range.prefixlen <= supernet.prefixlen for entry in special):
        private = [str(entry.range) for entry in case.known.special_ranges if entry.hosts == "private"]
        yield Problem(
            _at("supernet"),
            f"{supernet} is public address space, or reaches into it",
            f"use a private range ({', '.join(private)}), unless this one is your own",
        )


@check("ADR016")
def growth_step_is_left(case: Case) -> Iterator[Problem]:
    """One more step of growth fits."""
    if isinstance(case.addresses, AddressPlan) and case.addresses.pools and not case.addresses.proof.growth.steps:
        growth = case.addresses.proof.growth
        yield Problem(
            _at("supernet"),
            f"no room for {quantity(growth.step, 'more node')}: {growth.ends_at} end at {growth.max_nodes} nodes",
            f"nothing to do if the cluster will not grow{_larger_cut(case, growth)}",
        )


def _larger_cut(case: Case, growth: Growth) -> str:
    """What to write for more room, before addresses are given: it moves them."""
    addressing = case.spec.fabric.addressing
    if not growth.next_supernet or addressing.supernet is None:
        return ""
    keys = [] if addressing.prefix_length is None else [f"prefixLength: {growth.next_subnet.removeprefix('/')}"]
    if int(growth.next_supernet.removeprefix("/")) < addressing.supernet.prefixlen:
        keys.append(f"a supernet of {growth.next_supernet}")
    return f"; else {' and '.join(keys)} before it is up, since it cuts the range again" if keys else ""


@check("ADR017")
def service_range_is_its_own(case: Case) -> Iterator[Problem]:
    """The service range overlaps neither pods nor nodes; some clouds put pods into the node network."""
    ranges = case.spec.cluster.ranges
    # DOK026 checks the stricter rule of DigitalOcean.
    if case.choices.provider == "doks":
        return
    for name, network in ranges.own().items():
        if name != "services" and has_overlap(ranges.services, network):
            yield Problem(
                in_cluster("ranges", "services"), f"{ranges.services} overlaps {network}, the cluster's {name} range"
            )


@check("ADR022")
def ranges_in_use_are_further_ones(case: Case) -> Iterator[Problem]:
    """On Oracle's clusters no further range in use overlaps the cluster's own."""
    # DOK026 checks DigitalOcean's.
    if case.choices.provider == "oke":
        yield from _range_overlaps(case, "the two cannot be routed to each other", "write ranges that are disjoint")


@check("ADR023")
def ranges_in_use_are_not_the_clusters(case: Case) -> Iterator[Problem]:
    """On an existing cluster a further range in use is not stated over the cluster's own."""
    if case.choices.provider == "existing":
        yield from _range_overlaps(
            case, "one of the two is not what it is stated as", "correct the range, or leave the reserved one out"
        )


def _range_overlaps(case: Case, why: str, remedy: str) -> Iterator[Problem]:
    ranges = case.spec.cluster.ranges
    for place, taken in enumerate(ranges.reserved):
        for name, network in ranges.own().items():
            if has_overlap(taken, network):
                yield Problem(
                    in_cluster("ranges", "reserved", place),
                    f"{taken} overlaps {network}, the cluster's {name} range: {why}",
                    remedy,
                )


@check("ADR018")
def first_shares_keep_pools_apart(case: Case) -> Iterator[Problem]:
    """A pool's `firstShare`, and the places that it keeps, have an effect, and its nodes' numbers are its own."""
    taken: dict[int, str] = {}
    for place, (pool, first, numbers) in enumerate(pool_shares(case.spec.cluster.pools)):
        where = in_cluster("pools", place, "firstShare")
        needs = "the layout per-node or hostPreparation.addresses, with nodeNames in every pool"
        if pool.first_share is not None and not _is_pinned(case):
            yield Problem(where, f"it has no effect without {needs}", "leave it out")
        elif clash := next((taken[number] for number in numbers if number in taken), None):
            free = max(taken) + 1
            yield Problem(where, f"pool {clash} has some of the shares from {first} on", f"write {free} or more")
        if "" in pool.node_names and not _is_pinned(case):
            names = in_cluster("pools", place, "nodeNames")
            yield Problem(names, f"an empty name keeps a place, which has no effect without {needs}", "leave it out")
        taken |= dict.fromkeys(numbers, pool.name)


@check("ADR019")
def growing_a_pool_moves_no_other(case: Case) -> Iterator[Problem]:
    """Where nodes are pinned to addresses, a pool that grows does not push another pool's on."""
    if not _is_pinned(case):
        return
    what = "prefixes" if case.demand.layout == "per-node" else "hosts' own addresses"
    for place, (pool, first, _) in enumerate(pool_shares(case.spec.cluster.pools)):
        if place and pool.first_share is None:
            yield Problem(
                in_cluster("pools", place),
                f"pool {pool.name} is numbered after the pools before it, so its {what} move when one of those grows",
                f"add firstShare: {first} or a higher number, which leaves room for growth before it",
            )


def _is_pinned(case: Case) -> bool:
    """Whether a node's number decides an address that is bound to its name."""
    by_hosts = case.spec.fabric.host_preparation.addresses and case.demand.layout != "none" and not case.demand.one_pool
    return bool(case.demand.node_names) and (case.demand.layout == "per-node" or by_hosts)


@check("ADR020")
def ranges_are_for_hosts(case: Case) -> Iterator[Problem]:
    """The cluster's ranges hold no addresses that hosts must not have."""
    for name, network in case.spec.cluster.ranges.own().items():
        for special in case.known.special_ranges:
            if special.hosts == "no" and has_overlap(special.range, network):
                yield Problem(
                    in_cluster("ranges", name),
                    f"{network} holds addresses of {special.range}, which is for {special.use} ({special.source})",
                )
                break


@check("ADR021")
def ranges_leave_bridges_alone(case: Case) -> Iterator[Problem]:
    """No range of the cluster is one that container runtimes give to a bridge of their own on every host."""
    for name, network in case.spec.cluster.ranges.own().items():
        for special in case.known.special_ranges:
            if special.hosts == "bridge" and has_overlap(special.range, network):
                yield Problem(
                    in_cluster("ranges", name),
                    f"{network} overlaps {special.range}, {special.use}: a host that has it reaches no other host "
                    f"there",
                )
