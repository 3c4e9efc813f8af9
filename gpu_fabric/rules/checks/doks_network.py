"""Checks of the network of clusters on DOKS: ranges, the VPC, Multus, and networks that keep the NICs unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.managers.doks import KEEPING_PLUGIN
from gpu_fabric.plan.operators.multus import brings_multus, multus_memory
from gpu_fabric.plan.rail import rails_are_routed
from gpu_fabric.rules.checks.doks import all_nodes, doks_cluster
from gpu_fabric.rules.checks.networks import mebibytes
from gpu_fabric.rules.ranges import has_overlap, node_parts_problem, wide_ranges
from gpu_fabric.rules.registry import Problem, check, check_of, check_plan, in_cluster, in_fabric, in_software
from gpu_fabric.spec.doks import DoksClusterSpec

_RFC_1918 = tuple(IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_LEAST_MEBIBYTES = 200
_MOVING = ("latest", "stable", "snapshot", "master", "main", "edge")
_NETWORKS = in_fabric("rails")
_OURS = "leave the rails' names out; if that does not help, this program is wrong"
_at = partial(in_cluster, "ranges")


@check_of("DOK024", doks_cluster)
def ranges_come_in_a_pair(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Pod and service range are both stated, or neither."""
    stated = cluster.ranges.own()
    if ("pods" in stated) != ("services" in stated):
        missing, given = ("services", "pods") if "pods" in stated else ("pods", "services")
        yield Problem(_at(missing), f"{given} is stated without it", f"add {missing}, or leave {given} out")


@check_of("DOK025", doks_cluster)
def ranges_are_private(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Every range of the cluster is private IPv4."""
    for name, network in cluster.ranges.own().items():
        if not (isinstance(network, IPv4Network) and any(network.subnet_of(block) for block in _RFC_1918)):
            private = " or ".join(map(str, _RFC_1918))
            yield Problem(_at(name), f"{network} is not within RFC 1918", f"write a range within {private}")


@check_of("DOK026", doks_cluster)
def ranges_do_not_overlap(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """No two ranges of the cluster, or a further range in use, overlap."""
    stated = cluster.ranges.own()
    pairs = [*combinations(stated.items(), 2)]
    pairs += [(("reserved", taken), entry) for taken in cluster.ranges.reserved for entry in stated.items()]
    for (name, network), (other, second) in pairs:
        if has_overlap(network, second):
            yield Problem(_at(other), f"{second} overlaps {network} ({name})")


@check_of("DOK027", doks_cluster)
def pod_range_holds_the_nodes(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The pod range has a part for every node, and for the one that a surge upgrade adds."""
    prefix, nodes = case.known.doks_clusters.limits.node_pod_prefix, all_nodes(cluster) + cluster.surge_upgrade
    return node_parts_problem(_at("pods"), cluster.ranges.pods, prefix, nodes, "one a node")


@check_of("DOK028", doks_cluster)
def vpc_has_an_allowed_size(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The VPC's range is neither too large nor too small."""
    limits, network = case.known.doks_clusters.limits, cluster.ranges.nodes
    shortest, longest = limits.shortest_vpc_prefix, limits.longest_vpc_prefix
    if isinstance(network, IPv4Network) and not shortest <= network.prefixlen <= longest:
        yield Problem(
            _at("nodes"), f"{network} is not a valid size of a VPC", f"write a range from /{shortest} to /{longest}"
        )


@check_of("DOK029", doks_cluster)
def isolated_workers_have_a_way_out(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """Workers without public addresses have a NAT gateway."""
    if cluster.isolated_workers and not cluster.vpc.nat_gateway:
        yield Problem(in_cluster("isolatedWorkers"))


@check_of("DOK055", doks_cluster)
def vpc_holds_the_nodes(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The VPC has an address for every node that the cluster may come to have."""
    network = cluster.ranges.nodes
    if not isinstance(network, IPv4Network):
        return
    taken = case.known.doks_clusters.limits.vpc_addresses_taken
    nodes, room = all_nodes(cluster) + cluster.surge_upgrade, network.num_addresses - taken
    if nodes > room:
        yield Problem(
            _at("nodes"),
            f"{network} has {max(room, 0)} addresses for Droplets, where {nodes} nodes may exist",
            f"write a range of /{network.max_prefixlen - (nodes + taken - 1).bit_length()} or shorter",
        )


@check_of("DOK056", doks_cluster)
def vpc_leaves_digitaloceans_ranges_alone(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The VPC overlaps no range that DigitalOcean uses, as far as is known or reported."""
    stated = cluster.ranges.own()
    network = stated.get("nodes")
    for row in case.known.doks_clusters.used_ranges:
        if has_overlap(row.range, network) and not (row.default_of and row.default_of in stated):
            doubt = "" if row.verified else " (reported by others, not verified)"
            yield Problem(_at("nodes"), f"{network} overlaps {row.range}: {row.use}{doubt}")


@check_of("DOK057", doks_cluster)
def firewall_is_not_open_to_all(case: Case, cluster: DoksClusterSpec) -> Iterator[Problem]:
    """The control plane's firewall lets in stated networks, and not the whole internet."""
    firewall = cluster.control_plane_firewall
    for place, said in wide_ranges(firewall.allowed if firewall else ()):
        yield Problem(in_cluster("controlPlaneFirewall", "allowed", place), said)


@check("DOK040")
def fabric_has_one_operator(case: Case) -> Iterator[Problem]:
    """No operator of the NICs' maker runs together with DigitalOcean's plug-in and the stack's Multus."""
    installed = case.spec.cluster.installed
    if manager_of(case).devices_advertised_by is not None and "network-operator" in installed:
        yield Problem(in_cluster("installed", installed.index("network-operator")))


@check_plan("DOK041")
def networks_fit_the_fabric(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every network has the CNI plug-in that its fabric needs, and that plug-in is installed."""
    if manager_of(case).nics_configured_by is None:
        return
    wanted = "ip-preserving-host-device" if rails_are_routed(case) else "host-device"
    for name, config in _configs(plan):
        if config.get("type") != wanted:
            yield Problem(_NETWORKS, f"network {name} is of type {config.get('type')} and not {wanted}", _OURS)
    lacking = manager_of(case).lacking_plugins
    if lacking and not plan.applied("cni-plugins") and case.spec.software.cni_plugins == "install":
        yield Problem(in_software("cniPlugins"), f"nothing installs the CNI plug-in {' and '.join(lacking)}", _OURS)


@check_plan("DOK042")
def networks_leave_addresses_alone(case: Case, plan: Plan) -> Iterator[Problem]:
    """No network gives addresses to NICs that have DigitalOcean's."""
    if manager_of(case).nics_configured_by is None:
        return
    for name, config in _configs(plan):
        if "ipam" in config:
            yield Problem(_NETWORKS, f"network {name} asks {config['ipam'].get('type')} for addresses", _OURS)


@check("DOK043")
def multus_has_memory(case: Case) -> Iterator[Problem]:
    """Multus' daemon has the memory that bursts of pods take."""
    if brings_multus(case) and mebibytes(multus_memory(case)) < _LEAST_MEBIBYTES:
        yield Problem(
            in_software("multus", "memory"),
            f"{multus_memory(case)} may be too little when many pods start at a time",
            f"write {_LEAST_MEBIBYTES}Mi or more, or leave it out",
        )


@check("DOK044")
def multus_is_pinned(case: Case) -> Iterator[Problem]:
    """Multus' image is a certain one."""
    image = case.spec.software.multus.image
    if not brings_multus(case) or image is None or "@sha256:" in image:
        return
    _, _, tag = image.rpartition("/")[2].partition(":")
    if not tag or tag.startswith(_MOVING):
        yield Problem(in_software("multus", "image"), f"{image} is another image from one day to the next")


@check("DOK045")
def switches_of_multus_have_an_effect(case: Case) -> Iterator[Problem]:
    """Switches of Multus are written only where the stack itself installs it."""
    section = case.spec.software.multus
    for field in sorted(section.model_fields_set - {"install"}):
        if not brings_multus(case) and getattr(section, field) is not None:
            reason = (
                "the cluster has one"
                if manager_of(case).multus_switch is None
                else f"the manager {case.choices.manager} installs its own"
            )
            yield Problem(in_software("multus", field), f"it has no effect: {reason}")


@check("DOK054")
def plug_in_is_checked_on_a_node(case: Case) -> Iterator[Problem]:
    """The user knows what is not published about DigitalOcean's plug-in for routed rails."""
    plugin = KEEPING_PLUGIN
    if plugin in manager_of(case).lacking_plugins and case.spec.software.cni_plugins == "install":
        yield Problem(
            in_software("cniPlugins"),
            f"how the image of {plugin} lays its plug-in into the nodes is not published, so its DaemonSet here may "
            "lack something",
            f"check for /opt/cni/bin/{plugin} on a GPU node before the first job; if it is missing, apply "
            "DigitalOcean's own manifest and write cniPlugins: node-image",
        )


def _configs(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every planned network with its CNI configuration."""
    for planned in plan.applied("networks"):
        if isinstance(planned.object, NetworkAttachmentDefinition):
            yield planned.name, json.loads(planned.object.spec.config)
