"""Checks of the IPAM: what it supports, and that networks find their pools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from functools import partial
from ipaddress import ip_network

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.k8s.spiderpool import SpiderIPPool
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.ipam import gateway_index, reserved_indexes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.sharing import SHARED
from gpu_fabric.plan.operators.whereabouts import CHART as WHEREABOUTS
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.records import PlannedAdoption, PlannedReadiness, PlannedSharing
from gpu_fabric.rules.chart_values import charts_in_use
from gpu_fabric.rules.planned_network import PoolReference, planned_networks
from gpu_fabric.rules.planned_nodes import is_tainted
from gpu_fabric.rules.registry import Problem, check, check_plan, in_cluster, in_fabric, in_software

_MOST_INDEX = 2**31 - 1
_at = partial(in_fabric, "addressing")


@check("IPM001")
def places_in_a_prefix_can_be_counted(case: Case) -> Iterator[Problem]:
    """Gateway and reservations are near enough to the start of a node's prefix for nv-ipam to count them."""
    if case.choices.ipam != "nv-ipam" or not isinstance(case.addresses, AddressPlan):
        return
    first = next((pool for pool in case.addresses.pools if pool.node_prefix_length is not None), None)
    if first is None:
        return
    reach = f"a node's prefix of /{first.node_prefix_length} reaches beyond what nv-ipam can count"
    shorter = f"or a nodePrefixLength of {first.space.max_prefixlen - 31} or more"
    if (gateway_index(first) or 0) > _MOST_INDEX:
        yield Problem(
            _at("gateway"), f"{reach}, and the gateway is its last address", f"write gateway: first, {shorter}"
        )
    if any(last > _MOST_INDEX for _, last in reserved_indexes(first)):
        yield Problem(
            _at("reservedLast"),
            f"{reach}, and the reserved addresses are its last",
            f"write reservedFirst instead, {shorter}",
        )


@check("IPM002")
def whereabouts_uses_the_whole_range(case: Case) -> Iterator[Problem]:
    """Whereabouts is given no IPv6 range of which it would use only half."""
    if case.choices.ipam != "whereabouts" or not isinstance(case.addresses, AddressPlan):
        return
    wide = [pool for pool in case.addresses.pools if pool.space.version == 6 and pool.subnet.prefixlen <= 64]
    if wide:
        yield Problem(_at("prefixLength"), f"of {wide[0].subnet} Whereabouts assigns the first half only")


@check("IPM003")
def pools_have_the_gateway_they_need(case: Case) -> Iterator[Problem]:
    """A pool names a gateway where the release line's nv-ipam takes none without."""
    taken = case.choices.ipam == "nv-ipam" and case.choices.layout != "none"
    if taken and case.line.nv_ipam_needs_gateway and case.spec.fabric.addressing.gateway == "none":
        yield Problem(_at("gateway"), f"nv-ipam of release line {case.line.name} takes no pool without a gateway")


@check("IPM005")
def exclusions_are_known(case: Case) -> Iterator[Problem]:
    """Addresses are kept free only where the release line's nv-ipam can keep them."""
    addressing = case.spec.fabric.addressing
    # Exclusions and the kind CIDRPool came with one release.
    if case.choices.ipam != "nv-ipam" or case.choices.layout == "none" or case.line.nv_ipam_cidr_pools:
        return
    kept = (
        ("exclude", addressing.exclude),
        ("reservedFirst", addressing.reserved_first),
        ("reservedLast", addressing.reserved_last),
    )
    for key, stated in kept:
        if stated:
            yield Problem(
                _at(key),
                f"nv-ipam of release line {case.line.name} knows no exclusions and would hand these addresses out",
            )


@check_plan("IPM004")
def networks_find_their_pools(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every pool that a network names exists, where its IPAM looks for it and in the network's address family."""
    named = dict.fromkeys(pool for network in planned_networks(plan) for pool in network.pools)
    lacking = [f"{pool.kind} {pool.name}".strip() for pool in named if not _exists(case, plan, pool)]
    if plan.addresses.pools and not all(network.pools for network in planned_networks(plan)):
        lacking.append("nowhere")
    if lacking:
        yield Problem(_at("ipam"), f"networks take addresses from {', '.join(lacking)}, and the plan has no such pool")


@check("IPM006")
def whereabouts_controllers_find_a_node(case: Case) -> Iterator[Problem]:
    """Some node takes the pods of Whereabouts that tolerate no taint."""
    if "whereabouts" in charts_in_use(case) and is_tainted(case):
        yield Problem(in_cluster("pools"))


@check("IPM007")
def whereabouts_is_not_left_behind(case: Case) -> Iterator[Problem]:
    """An operator that stays in the namespace of a line with Whereabouts in its policy is not upgraded with it."""
    namespace = case.spec.software.network_operator.namespace
    older = {
        line.charts["network-operator"].namespace for line in catalog().releases.values() if line.policy_by == "chart"
    }
    if "whereabouts" in charts_in_use(case) and namespace in older:
        yield Problem(
            in_software("networkOperator", "namespace"),
            f"release line {case.line.name} would leave the Whereabouts of the older operator in {namespace} running",
        )


def _brings_nv_ipam(plan: Plan) -> bool:
    """Whether a policy installs it: the stack's own, one that the chart creates from its values, or the cluster's."""
    chart = plan.release("network-operator")
    if chart is not None and plan.record(PlannedReadiness, "nic-policies") is not None:
        return field(chart.values, "nvIpam", "deploy") is True
    if (adopted := plan.record(PlannedAdoption, "adopted-sections")) is not None:
        return "nvIpam" in adopted.spec
    if (sharing := plan.record(PlannedSharing, SHARED)) is not None and sharing.policy is not None:
        return "nvIpam" in sharing.policy.sections
    policies = (entry.object for entry in plan.applied("nic-policies"))
    return any(isinstance(policy, NicClusterPolicy) and policy.spec.nv_ipam is not None for policy in policies)


def _has_whereabouts(case: Case, plan: Plan) -> bool:
    """Whether Whereabouts is there: by its own chart, by the policy of an older operator's chart, or in the cluster."""
    if WHEREABOUTS.is_present(case):
        return True
    chart = plan.release("network-operator")
    by_policy = chart is not None and field(chart.values, "secondaryNetwork", "ipamPlugin", "deploy") is True
    return plan.release("whereabouts") is not None or by_policy


def _exists(case: Case, plan: Plan, pool: PoolReference) -> bool:
    if pool.kind == "SpiderIPPool":
        matches = re.compile(translate(pool.name)).match
        made = (entry.object for entry in plan.applied("ip-pools", "node-pools"))
        return any(
            isinstance(entry, SpiderIPPool)
            and matches(entry.metadata.name) is not None
            and ip_network(entry.spec.subnet).version == pool.version
            for entry in made
        )
    if pool.kind:
        # nv-ipam honours pools in its own namespace only, and only if the policy installs it.
        home = manager_of(case).namespace
        return _brings_nv_ipam(plan) and any(
            (entry.object.kind, entry.name, entry.object.metadata.namespace) == (pool.kind, pool.name, home)
            for entry in plan.applied("ip-pools")
        )
    return _has_whereabouts(case, plan) and pool.name in {str(known.subnet) for known in plan.addresses.pools}
