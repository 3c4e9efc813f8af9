"""Checks of the host preparation: its jobs can be done, fit the fabric, have one owner, and find addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.plan.addresses import AddressPlan, AddressPool, Refusal
from gpu_fabric.plan.addresses.planning import Cut, remedy
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.nccl_settings import TRAFFIC_CLASS, dscp_of, fabric_facts, planned_settings, traffic_class_of
from gpu_fabric.rules.planned_nodes import (
    node_groups,
    prepares_rdma_mode,
    rails_without_address,
    sets_rdma_mode,
    unnamed_pools,
)
from gpu_fabric.rules.registry import Problem, check, check_each, in_fabric

# Jobs that look for each rail's NIC by its interface on the host.
_BY_INTERFACE = ("addresses", "lossless", "ipoib")
_at = partial(in_fabric, "addressing")
_job = partial(in_fabric, "hostPreparation")


@check("HPR001")
def hosts_are_the_stacks_to_prepare(case: Case) -> Iterator[Problem]:
    """Nodes are prepared only where the cloud does not do it."""
    jobs = case.spec.fabric.host_preparation.jobs
    by_cloud = case.choices.provider == "doks" or manager_of(case).nics_configured_by is not None
    if jobs and by_cloud:
        yield Problem(
            in_fabric("hostPreparation"),
            f"DigitalOcean sets its nodes' fabric up itself, and {_and(jobs)} would change what it has set",
        )


@check("HPR002")
def dry_runs_have_jobs(case: Case) -> Iterator[Problem]:
    """A dry run is asked for only together with a job."""
    if case.spec.fabric.host_preparation.dry_run and not case.spec.fabric.host_preparation.jobs:
        yield Problem(_job("dryRun"))


@check("HPR005")
def jobs_find_the_interfaces(case: Case) -> Iterator[Problem]:
    """For jobs that look for the rails' interfaces, all interfaces are stated."""
    jobs = [job for job in case.spec.fabric.host_preparation.jobs if job in _BY_INTERFACE]
    for group in case.groups if jobs else ():
        lacking = [str(rail) for rail, nic in enumerate(group.shape.nics) if nic.interface is None]
        if lacking:
            yield Problem(
                in_fabric("rails"),
                f"{group.shape.name} does not state the interface of rail {lacking}, and hostPreparation "
                f"({_and(jobs)}) depends on it",
            )


@check("HPR008")
def jobs_fit_the_link_layer(case: Case) -> Iterator[Problem]:
    """Flow control is asked for on Ethernet only, and IP over InfiniBand on InfiniBand only."""
    wanted, link_type = case.spec.fabric.host_preparation, case.choices.link_type
    if wanted.lossless is not None and link_type != "ether":
        yield Problem(
            _job("lossless"),
            "priority flow control and DSCP are Ethernet's; InfiniBand never drops for want of room",
            "leave it out, or write fabric.linkType: ether",
        )
    if wanted.ipoib and link_type != "infiniband":
        yield Problem(_job("ipoib"), "the rails are Ethernet", "leave it out, or write fabric.linkType: infiniband")


@check("HPR009")
def switches_are_configured_equally(case: Case) -> Iterator[Problem]:
    """The user knows how the switches must be configured."""
    lossless = case.spec.fabric.host_preparation.lossless
    if lossless is not None and case.choices.link_type == "ether":
        rdma, notifications = lossless.marks
        yield Problem(
            _job("lossless"),
            f"it holds only where the switches have the same: DSCP {rdma} in priority {lossless.priority} with flow "
            f"control and ECN, DSCP {notifications} in priority {lossless.cnp_priority}",
        )


@check("HPR018")
def jobs_use_the_lossless_class(case: Case) -> Iterator[Problem]:
    """Jobs mark packets with the DSCP that the hosts pause, and it is the fabric's own where that is known."""
    facts = fabric_facts(case)
    if facts.lossless is None:
        return
    dscp, _ = facts.lossless.marks
    stated = facts.own.get(TRAFFIC_CLASS, "")
    if stated.isdecimal() and dscp_of(int(stated)) != dscp:
        yield Problem(
            in_fabric("nccl", "settings", TRAFFIC_CLASS),
            f"{stated} marks packets with DSCP {dscp_of(int(stated))}, and hostPreparation.lossless pauses DSCP {dscp}",
            f"leave it out: jobs then get {traffic_class_of(dscp)}; or write priority and dscp of lossless to fit",
        )
    access = case.choices.access or "physical"
    published = planned_settings(case.shape, case.known, access, replace(facts, own={}, lossless=None))
    for row in published:
        if row.variable == TRAFFIC_CLASS and row.scope != "verification" and dscp_of(int(row.value)) != dscp:
            own = dscp_of(int(row.value))
            yield Problem(
                _job("lossless"),
                f"it pauses DSCP {dscp}, and the fabric of {case.shape.name} is known for traffic class {row.value}, "
                f"which is DSCP {own}",
                f"write priority: {own // 8} and dscp: {own} with another cnpPriority, or leave lossless out where the "
                "cloud sets its hosts up",
            )


@check("HPR010")
def fabric_rule_has_a_range(case: Case) -> Iterator[Problem]:
    """The rule about the fabric's addresses is asked for only where the plan has some."""
    if case.spec.fabric.host_preparation.fabric_rule and case.choices.layout == "none":
        yield Problem(
            _job("fabricRule"),
            f"the rule names the fabric's range, and {case.choices.model} with the layout none has no addresses",
        )


@check("HPR011")
def fabric_rule_has_an_effect(case: Case) -> Iterator[Problem]:
    """The rule about the fabric's addresses is asked for only where hosts route by them."""
    asked = case.spec.fabric.host_preparation.fabric_rule
    if asked and case.choices.link_type == "infiniband" and case.choices.layout != "none":
        yield Problem(_job("fabricRule"))


@check_each("HPR012", node_groups)
def link_types_are_of_known_nics(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The NICs whose link layer is looked at have known PCI addresses."""
    if case.spec.fabric.host_preparation.link_type is not None and (lacking := rails_without_address(group)):
        yield Problem(
            in_fabric("rails"),
            f"{group.shape.name} does not state the PCI address of rail {lacking}, and hostPreparation "
            "(linkType) depends on it",
        )


@check("HPR013")
def firmware_is_changed(case: Case) -> Iterator[Problem]:
    """The user knows where the NICs' firmware is changed."""
    if case.spec.fabric.host_preparation.link_type == "change":
        yield Problem(
            _job("linkType"),
            f"the firmware of NICs with another link layer is set to {case.choices.link_type}, which they take at the "
            "node's next start; until then the DaemonSet is not ready there",
        )


@check("HPR014")
def mode_may_need_a_reboot(case: Case) -> Iterator[Problem]:
    """The user knows where a node may have to be rebooted for the RDMA mode."""
    if prepares_rdma_mode(case) and case.choices.rdma_mode == "exclusive":
        yield Problem(_job("rdmaMode"))


@check("HPR015")
def mode_has_one_owner(case: Case) -> Iterator[Problem]:
    """The RDMA mode of the nodes is set by one part of the stack at most."""
    other = sets_rdma_mode(case)
    if case.spec.fabric.host_preparation.rdma_mode and other is not None:
        yield Problem(
            _job("rdmaMode"), f"{other} sets the mode as well (virtualFunctions: {case.choices.virtual_functions})"
        )


@check("HPR017")
def nics_stay_on_the_host(case: Case) -> Iterator[Problem]:
    """Jobs that look for the rails' interfaces find them on the host, whatever pods run."""
    if case.choices.access != "physical" or manager_of(case).nics_configured_by is not None:
        return
    # The addresses' script knows a claimed NIC by its PCI address.
    claimed = manager_of(case).dra_driver is not None
    for job in case.spec.fabric.host_preparation.jobs:
        if job in _BY_INTERFACE and not (claimed and job == "addresses"):
            yield Problem(
                _job(job),
                f"with the model {case.choices.model} a pod takes the NIC with its interface away from the host",
            )


def _and(jobs: tuple[str, ...] | list[str]) -> str:
    return " and ".join(jobs)


@check("HPR003")
def addresses_are_of_named_nodes(case: Case) -> Iterator[Problem]:
    """Addresses are given to nodes that the stack file names."""
    if not _plans_addresses(case):
        return
    for pool in unnamed_pools(case):
        yield Problem(
            pool.at("nodeNames"),
            f"hostPreparation.addresses gives each node its own addresses by its name, and pool {pool.spec.name} names "
            "none",
            f"add nodeNames: the names of its {pool.spec.nodes} nodes, or leave hostPreparation.addresses out",
        )


@check("HPR004")
def rails_have_subnets_for_hosts(case: Case) -> Iterator[Problem]:
    """Addresses are given to NICs of which each has its rail's own pool."""
    if not case.spec.fabric.host_preparation.addresses:
        return
    if case.choices.layout == "none":
        yield Problem(
            _job("addresses"),
            "the layout none plans no addresses",
            "leave it out, or write a layout with addresses and a supernet",
        )
    elif case.demand.one_pool:
        yield Problem(
            _job("addresses"),
            f"all {case.demand.rails} rails share one pool, in which a node has one address and not one a NIC",
            "leave it out, or write addressing.layout: per-rail",
        )


@check("HPR006")
def enough_addresses_are_reserved(case: Case) -> Iterator[Problem]:
    """Of every pool as many addresses are reserved as hosts need, spare and surge nodes' included."""
    if not _plans_addresses(case) or not isinstance(case.addresses, AddressPlan) or case.choices.ipam == "host":
        return
    pool = case.addresses.pools[0]
    shared = pool.node_prefix_length is None
    needed, there = _host_addresses(case, pool), _reserved_addresses(pool)
    if there >= needed:
        return
    key = "reservedLast" if _is_at_end(pool) else "reservedFirst"
    kept = "spare or surge" if case.demand.hosts == case.nodes else "spare, surge or kept between"
    extra = f", {needed - case.nodes} of them {kept}" if needed > case.nodes else ""
    yield Problem(
        _at(key),
        f"each rail's subnet keeps {quantity(there, 'address')} for hosts, and there are {needed} nodes{extra}"
        if shared
        else "each node's prefix keeps no address for the host's own NIC",
        _reservation_remedy(case, pool, needed, key) + (", with room for nodes to come" if shared else ""),
    )


def _host_addresses(case: Case, pool: AddressPool) -> int:
    """Addresses of a subnet that hosts hold."""
    addressing = case.spec.fabric.addressing
    shared = pool.node_prefix_length is None
    return case.demand.hosts + addressing.spare_nodes + addressing.surge_nodes if shared else 1


def _reserved_addresses(pool: AddressPool) -> int:
    """Addresses of a subnet that are reserved for hosts."""
    at_end = _is_at_end(pool)
    router = pool.gateway_position == ("last" if at_end else "first")
    return max(0, (pool.reserved_last if at_end else pool.reserved_first) - router)


def _reservation_remedy(case: Case, pool: AddressPool, needed: int, key: str) -> str:
    """The change that reserves enough and leaves every pod its address: the other end where this one does not."""
    addressing, refused = case.spec.fabric.addressing, None
    assert addressing.supernet is not None, "a plan with pools has one"
    ends = {"reservedFirst": "first", "reservedLast": "last"}
    for end in sorted(ends, key=lambda name: name != key):
        number = needed + (pool.gateway_position == ends[end])
        changed = addressing.model_copy(update={f"reserved_{ends[end]}": number})
        cut = Cut(changed, addressing.supernet, case.demand)
        found = cut.pools()
        if isinstance(found, Refusal):
            refused = refused or (number, remedy(cut, found))
        elif _reserved_addresses(found[0]) >= needed:
            return f"write {end}: {number} or more"
    number, also = refused or (needed, "")
    return f"write {key}: {number} or more" + (f", and with it {also}" if also else "")


@check("HPR007")
def hosts_get_no_excluded_address(case: Case) -> Iterator[Problem]:
    """No host gets an address that the stack file excludes."""
    if not _plans_addresses(case) or not isinstance(case.addresses, AddressPlan):
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
                in_fabric("addressing", "exclude", place),
                f"hostPreparation.addresses gives {taken[0]}{more} of it to a host",
            )


@check("HPR016")
def infiniband_nics_have_an_interface(case: Case) -> Iterator[Problem]:
    """The user knows that InfiniBand NICs can hold addresses only with their module."""
    wanted = case.spec.fabric.host_preparation
    if wanted.addresses and case.choices.link_type == "infiniband" and not wanted.ipoib:
        yield Problem(_job("addresses"))


def _plans_addresses(case: Case) -> bool:
    """Whether addresses are asked for and pools to take them from can be planned."""
    return case.spec.fabric.host_preparation.addresses and case.choices.layout != "none" and not case.demand.one_pool


def _is_at_end(pool: AddressPool) -> bool:
    """Whether hosts have the last addresses: they have the first ones wherever some of those are reserved."""
    first = pool.reserved_first > (pool.gateway_position == "first")
    return not first and pool.reserved_last > (pool.gateway_position == "last")
