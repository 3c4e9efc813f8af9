"""Checks of the group `spiderpool`: which pool an interface takes its address from, and what the chart advertises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate

from fabric.plan.addresses import AddressPlan
from fabric.plan.addresses.demand import hosts_in
from fabric.plan.case import Case
from fabric.plan.ipam.spiderpool import node_pool_name
from fabric.plan.plan import Plan
from fabric.rules.chart_values import value_at
from fabric.rules.planned_network import read_network
from fabric.rules.registry import Problem, check
from fabric.spec.places import Location, dotted

# Addresses of a pool object at most; a larger prefix has room beyond them.
_MOST_IN_POOL = 65_536


@check("SPI001")
def prefixes_are_bound_to_nodes(case: Case) -> Iterator[Problem]:
    """Every node's prefix is found by the host's address on it, or by the node's name."""
    if not _per_node(case) or case.choices.model == "sriov":
        return
    for place, pool in enumerate(case.spec.cluster.pools):
        if not pool.node_names:
            yield Problem(
                dotted(("cluster", "pools", place, "nodeNames")),
                f"the layout per-node with {case.choices.model} binds each prefix to a node by its name, and pool "
                f"{pool.name} names none",
                f"add nodeNames: the names of its {pool.nodes} nodes, or write layout: per-rail",
            )


@check("SPI002")
def prefixes_hold_the_hosts_address(case: Case) -> Iterator[Problem]:
    """Every node's prefix has an address that neither the gateway nor a pod takes, for the host's own NIC."""
    if not _per_node(case) or case.choices.model != "sriov" or not isinstance(case.addresses, AddressPlan):
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
                dotted(("fabric", "addressing", "reservedFirst")),
                f"pods may take every address of {pool.node_prefix(short[0])}, the host's own NIC's too",
                f"write reservedFirst: {least}, and give the NIC the last of them",
            )
            return


@check("SPI003")
def jobs_get_a_device(case: Case) -> Iterator[Problem]:
    """A job's interface comes with an RDMA device."""
    if (case.choices.manager, case.choices.model) == ("spiderpool", "ipoib"):
        yield Problem(
            dotted(("fabric", "model")),
            "IPoIB by Spiderpool brings no RDMA device into the pod, so NCCL uses sockets",
            "write model: ib-sriov for RDMA, unless this fabric is for control or storage traffic",
        )


@check("SPI004")
def some_node_has_no_taint(case: Case) -> Iterator[Problem]:
    """The chart's own jobs find a node that they may run on."""
    pools = zip(case.spec.cluster.pools, case.shapes, strict=True)
    tainted = all(pool.taints_with(shape.gpus.vendor) for pool, shape in pools)
    if case.choices.manager == "spiderpool" and case.choices.provider == "existing" and tainted:
        yield Problem(
            dotted(("cluster", "pools")),
            "all GPU pools have taints, and Spiderpool's init job tolerates none",
            "nothing to do if the cluster has other nodes, without taints; else add one",
        )


@check("SPI005")
def node_policies_are_there(case: Case) -> Iterator[Problem]:
    """Somebody tells Spiderpool's SR-IOV operator which virtual functions to make and how to name them."""
    row = case.choices.row
    if case.plan is None or row is None or (row.manager, row.access) != ("spiderpool", "virtual"):
        return
    names = [rail.resource for rail in case.plan.rails if rail.resource is not None]
    yield Problem(
        dotted(("fabric", "model")),
        f"the resources {names[0]} to {names[-1]} come from SriovNetworkNodePolicies that this version does not plan",
        f"apply one policy a rail: resourceName as named, numVfs: {case.shape.vfs_per_nic}, and the rail's NIC",
    )


@check("SPI006")
def patterns_match_one_rail(case: Case) -> Iterator[Problem]:
    """The pools that a rail's network matches are that rail's, and no other's."""
    plan = case.plan
    if plan is None or plan.choices.manager != "spiderpool":
        return
    owners = _owners(plan)
    rails = {rail.network: rail.index for rail in plan.rails}
    patterns = {
        (rails[network.name], pool.name)
        for network in map(read_network, plan.networks)
        for pool in network.pools
        if network.name in rails
    }
    for rail, pattern in sorted(patterns):
        matches = re.compile(translate(pattern)).match
        others = {owner for name, owner in owners.items() if matches(name)} - {rail}
        if others:
            yield Problem(
                dotted(_naming(case, {rail, *others})),
                f"the pools {pattern} of rail {rail} match pools of rail {', '.join(map(str, sorted(others)))} as well",
                "give the rails names of which none begins with another one and a dash, or leave the names out",
            )


@check("SPI007")
def values_keep_the_device_plugins(case: Case) -> Iterator[Problem]:
    """With the stack file's own values the chart still installs and configures what the model needs."""
    plan, row = case.plan, case.choices.row
    if plan is None or plan.spiderpool is None or row is None:
        return
    values = plan.spiderpool.values
    where: Location = ("software", "spiderpool", "values")
    if plan.shared_plugin is not None:
        key = ("rdma", "rdmaSharedDevicePlugin")
        if value_at(values, *key, "install") is not True:
            yield Problem(dotted((*where, *key, "install")), _gone("the RDMA shared device plug-in"), "leave it out")
        if value_at(values, *key, "deviceConfig") != plan.shared_plugin.to_dict():
            message = "it is not the configuration that the rails need"
            yield Problem(dotted((*where, *key, "deviceConfig")), message, "leave it out")
    if row.access == "virtual" and value_at(values, "sriov", "install") is not True:
        yield Problem(dotted((*where, "sriov", "install")), _gone("the SR-IOV operator"), "leave it out")


def _per_node(case: Case) -> bool:
    return case.choices.manager == "spiderpool" and case.choices.layout == "per-node"


def _owners(plan: Plan) -> dict[str, int]:
    """The rail of every pool object, by the object's name."""
    pools = plan.addresses.pools
    owners = {pool.name: pool.rails[0] for pool in pools if pool.node_prefix_length is None}
    return owners | {
        node_pool_name(pool, name): pool.rails[0]
        for pool in pools
        if pool.node_prefix_length is not None
        for _, name in plan.addresses.numbered_nodes
    }


def _naming(case: Case, rails: set[int]) -> Location:
    """Where one of the rails is given its name; the list of rails where none is."""
    for place, entry in enumerate(case.spec.fabric.rails):
        if entry.rail in rails and entry.network is not None:
            return ("fabric", "rails", place, "network")
    return ("fabric", "rails")


def _gone(what: str) -> str:
    return f"without {what} nothing advertises the jobs' resources"
