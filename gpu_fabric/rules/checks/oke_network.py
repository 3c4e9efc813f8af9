"""Checks of the group `oke`: ids and their region, the VCN, its subnets, and the ways in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.oke import Site
from gpu_fabric.rules.checks.oke import oke_cluster
from gpu_fabric.rules.checks.ranges import almost_everybody
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import Location, dotted

_VCN = ("cluster", "vcn")


def oke_site(case: Case) -> Site | None:
    """The cluster with the facts about Oracle's; None elsewhere."""
    cluster = oke_cluster(case)
    return Site(case, cluster, case.known.oke_clusters) if cluster else None


def _ids(value: Any, place: Location) -> Iterator[tuple[Location, str]]:
    """Every id that the stack file has, with its place."""
    if isinstance(value, str) and value.startswith("ocid1."):
        yield place, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _ids(entry, (*place, key))
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _ids(entry, (*place, number))


@check("OKE016")
def ids_belong_to_the_region(case: Case) -> Iterator[Problem]:
    """Every id is of the cluster's realm, and where it names a region, of the cluster's."""
    cluster, regions = oke_cluster(case), case.known.oke_clusters.regions
    facts = regions.get(cluster.region) if cluster else None
    if cluster is None or facts is None:
        return
    for place, text in _ids(cluster.model_dump(by_alias=True), ("cluster",)):
        _, _, realm, region, *_ = text.split(".")
        if realm != facts.realm:
            yield Problem(
                dotted(place),
                f"the id is of realm {realm}, and {cluster.region} belongs to {facts.realm}",
                f"write an id of {cluster.region}, or the region of the id",
            )
        elif region and region not in (facts.key, cluster.region):
            yield Problem(
                dotted(place),
                f"the id is of region {_named(case, region)}, the cluster of {cluster.region}",
                f"write an id of {cluster.region}, or the region of the id",
            )
    home = cluster.identity.home_region
    if home in regions and regions[home].realm != facts.realm:
        yield Problem(
            dotted(("cluster", "identity", "homeRegion")),
            f"{home} belongs to realm {regions[home].realm}, {cluster.region} to {facts.realm}",
            "write the tenancy's home region",
        )


def _named(case: Case, region: str) -> str:
    regions = case.known.oke_clusters.regions
    return next((name for name, facts in regions.items() if facts.key == region), region)


@check("OKE017")
def region_is_known(case: Case) -> Iterator[Problem]:
    """The region is one of Oracle's."""
    cluster, regions = oke_cluster(case), case.known.oke_clusters.regions
    if cluster and cluster.region not in regions:
        yield Problem(
            dotted(("cluster", "region")),
            f"{cluster.region} is in no table of Oracle's regions that this program knows",
            "compare it with the console; a new region may be right",
        )


@check("OKE018")
def vcn_has_a_range(case: Case) -> Iterator[Problem]:
    """The VCN's range is stated, whether it is new or there already."""
    cluster = oke_cluster(case)
    if cluster and cluster.ranges.nodes is None:
        yield Problem(
            dotted(("cluster", "ranges", "nodes")),
            "nothing says which range the VCN has",
            "write its range; the published plan has 10.140.0.0/16",
        )


@check("OKE019")
def new_subnets_have_routes(case: Case) -> Iterator[Problem]:
    """In a VCN that exists, every subnet is there already or has a route table that is."""
    site = oke_site(case)
    if site is None or site.cluster.vcn.id is None:
        return
    vcn = site.cluster.vcn
    for key, table in (("private", vcn.route_table_ids.private), ("public", vcn.route_table_ids.public)):
        public = key == "public"
        made = [name for name in site.subnets if name not in vcn.subnet_ids]
        lacking = [name for name in made if (name in site.public_subnets) is public]
        if lacking and table is None:
            yield Problem(
                dotted((*_VCN, "routeTableIds", key)),
                f"in a VCN that exists, {', '.join(lacking)} would have no routes",
                "add the id of a route table, or under subnetIds the ids of subnets that are there",
            )


@check("OKE033")
def worker_subnet_holds_the_nodes(case: Case) -> Iterator[Problem]:
    """The worker subnet has an address for every node."""
    site = oke_site(case)
    subnet = site.range_of("workers") if site else None
    if site is None or subnet is None:
        return
    nodes = case.nodes + site.cluster.system_pool.nodes
    if nodes > subnet.num_addresses:
        needed = subnet.max_prefixlen - (nodes - 1).bit_length()
        yield Problem(
            dotted((*_VCN, "subnets", "workers")),
            f"{subnet} has {subnet.num_addresses} addresses for {nodes} nodes",
            f"write a range of /{needed} or shorter",
        )


@check("OKE035")
def subnets_that_exist_lie_in_a_vcn_that_does(case: Case) -> Iterator[Problem]:
    """Subnets and route tables that exist are named only together with their VCN."""
    cluster = oke_cluster(case)
    if cluster is None or cluster.vcn.id is not None:
        return
    tables = cluster.vcn.route_table_ids
    for key, given in (("subnetIds", cluster.vcn.subnet_ids), ("routeTableIds", tables.private or tables.public)):
        if given:
            yield Problem(
                dotted((*_VCN, key)), "the stack creates the VCN, and these are in an existing one", "add vcn.id"
            )


@check("OKE036")
def vcn_holds_the_published_subnets(case: Case) -> Iterator[Problem]:
    """Every subnet that the stack makes has a range: a stated one, or its part of the VCN."""
    site = oke_site(case)
    vcn = site.cluster.ranges.nodes if site else None
    if site is None or vcn is None:
        return
    lacking = [name for name in site.subnets if name not in site.cluster.vcn.subnet_ids and site.range_of(name) is None]
    if lacking:
        needed = vcn.max_prefixlen - max(site.facts.subnets[name].new_bits for name in lacking)
        yield Problem(
            dotted(("cluster", "ranges", "nodes")),
            f"{vcn} is too small for the published plan's {', '.join(lacking)}",
            f"write a range of /{needed} or shorter, or state those subnets under vcn.subnets",
        )


@check("OKE037")
def ranges_are_ipv4(case: Case) -> Iterator[Problem]:
    """The ranges of VCN, subnets, pods and services are IPv4."""
    cluster = oke_cluster(case)
    if cluster is None:
        return
    ranges = cluster.ranges
    named: dict[Location, IPNetwork | None] = {
        ("ranges", "pods"): ranges.pods,
        ("ranges", "services"): ranges.services,
        ("ranges", "nodes"): ranges.nodes,
    }
    named |= {("vcn", "subnets", name): network for name, network in cluster.vcn.subnets.items()}
    for place, network in named.items():
        if network is not None and network.version != 4:
            yield Problem(dotted(("cluster", *place)), f"{network} is IPv6", "write an IPv4 range")


@check("OKE028")
def ways_in_can_be_taken(case: Case) -> Iterator[Problem]:
    """A bastion has ranges that may come, and hosts have an image and somebody's key."""
    cluster = oke_cluster(case)
    if cluster is None or cluster.access.mode == "none":
        return
    access = cluster.access
    if not access.allowed:
        yield Problem(
            dotted(("cluster", "access", "allowed")),
            "no range may reach the bastion",
            "add the ranges from which people come",
        )
    if access.mode != "bastion-host":
        return
    if not access.ssh_public_keys:
        yield Problem(
            dotted(("cluster", "access", "sshPublicKeys")),
            "no SSH public key is configured for the bastion hosts",
            "add the public keys of people",
        )
    for key, host in (("bastion", access.bastion), ("operator", access.operator)):
        if host.image_id is None:
            yield Problem(
                dotted(("cluster", "access", key, "imageId")),
                f"the {key} host has no image to start from",
                "add the id of an image of the region",
            )


@check("OKE029")
def bastion_is_not_open_to_all(case: Case) -> Iterator[Problem]:
    """The bastion can be reached from stated ranges only."""
    cluster = oke_cluster(case)
    if cluster is None or cluster.access.mode == "none":
        return
    for place, said in almost_everybody(cluster.access.allowed):
        yield Problem(dotted(("cluster", "access", "allowed", place)), said, "write the ranges from which people come")


@check("OKE043")
def vcn_has_an_allowed_size(case: Case) -> Iterator[Problem]:
    """The VCN's range is neither too large nor too small."""
    cluster, facts = oke_cluster(case), case.known.oke_clusters
    network = cluster.ranges.nodes if cluster else None
    if network is not None and not facts.shortest_vcn_prefix <= network.prefixlen <= facts.longest_vcn_prefix:
        yield Problem(
            dotted(("cluster", "ranges", "nodes")),
            f"{network} is not a valid size of a VCN",
            f"write a range from /{facts.shortest_vcn_prefix} to /{facts.longest_vcn_prefix}",
        )


@check("OKE032")
def private_endpoint_can_be_reached(case: Case) -> Iterator[Problem]:
    """A private API server has a way in, or the stack says that it runs where one is."""
    cluster = oke_cluster(case)
    if cluster is None or cluster.endpoint.public or cluster.access.mode != "none":
        return
    if cluster.kubeconfig.endpoint != "private":
        yield Problem(
            dotted(("cluster", "endpoint", "public")),
            "the API server has only an address of the VCN, and no bastion leads to it",
            "write access.mode: bastion-service or bastion-host, or public: true with allowed ranges; or where the "
            "stack runs within the VCN, kubeconfig.endpoint: private",
        )
