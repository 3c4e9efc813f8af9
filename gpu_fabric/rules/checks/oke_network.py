"""Checks of the network of clusters on OKE: ids and their region, the VCN, its subnets, ranges, and access."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.oke.site import Site
from gpu_fabric.rules.checks.oke import oke_cluster, oke_site
from gpu_fabric.rules.ranges import has_overlap, node_parts_problem, wide_ranges
from gpu_fabric.rules.registry import Problem, check, check_of, in_cluster, in_fabric
from gpu_fabric.spec.cluster import most_nodes
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.oke import OkeClusterSpec, OkePoolSpec
from gpu_fabric.spec.places import Location, dotted

_at = partial(in_cluster, "vcn", "subnets")


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


@check_of("OKE016", oke_cluster)
def ids_belong_to_the_region(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Every id is of the cluster's realm, and where it names a region, of the cluster's."""
    regions = case.known.oke_clusters.regions
    facts = regions.get(cluster.region)
    if facts is None:
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
                f"the id is of region {_region_name(case, region)}, the cluster of {cluster.region}",
                f"write an id of {cluster.region}, or the region of the id",
            )
    home = cluster.identity.home_region
    if home in regions and regions[home].realm != facts.realm:
        yield Problem(
            in_cluster("identity", "homeRegion"),
            f"{home} belongs to realm {regions[home].realm}, {cluster.region} to {facts.realm}",
            "write the tenancy's home region",
        )


def _region_name(case: Case, region: str) -> str:
    regions = case.known.oke_clusters.regions
    return next((name for name, facts in regions.items() if facts.key == region), region)


@check_of("OKE017", oke_cluster)
def region_is_known(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The region is one of Oracle's."""
    regions = case.known.oke_clusters.regions
    if cluster.region not in regions:
        yield Problem(
            in_cluster("region"), f"{cluster.region} is in no table of Oracle's regions that this program knows"
        )


@check_of("OKE018", oke_cluster)
def vcn_has_a_range(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The VCN's range is stated, whether it is new or exists."""
    if cluster.ranges.nodes is None:
        yield Problem(in_cluster("ranges", "nodes"))


@check_of("OKE019", oke_site)
def new_subnets_have_routes(case: Case, site: Site) -> Iterator[Problem]:
    """In an existing VCN, every subnet exists or has an existing route table."""
    if site.cluster.vcn.id is None:
        return
    vcn = site.cluster.vcn
    for key, table in (("private", vcn.route_table_ids.private), ("public", vcn.route_table_ids.public)):
        public = key == "public"
        made = [name for name in site.subnets if name not in vcn.subnet_ids]
        lacking = [name for name in made if (name in site.public_subnets) is public]
        if lacking and table is None:
            yield Problem(
                in_cluster("vcn", "routeTableIds", key),
                f"in a VCN that exists, {', '.join(lacking)} would have no routes",
            )


@check_of("OKE033", oke_site)
def worker_subnet_holds_the_nodes(case: Case, site: Site) -> Iterator[Problem]:
    """The worker subnet has an address for every node."""
    cluster = site.cluster
    nodes = cluster.system_pool.nodes + sum(map(most_nodes, cluster.every_pool))
    subnet = site.range_of("workers")
    if subnet is not None and nodes > subnet.num_addresses:
        needed = subnet.max_prefixlen - (nodes - 1).bit_length()
        yield Problem(
            in_cluster("vcn", "subnets", "workers"),
            f"{subnet} has {subnet.num_addresses} addresses for {nodes} nodes",
            f"write a range of /{needed} or shorter",
        )


@check_of("OKE035", oke_cluster)
def existing_subnets_are_in_an_existing_vcn(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Subnets and route tables that exist are named only together with their VCN."""
    if cluster.vcn.id is not None:
        return
    tables = cluster.vcn.route_table_ids
    for key, given in (("subnetIds", cluster.vcn.subnet_ids), ("routeTableIds", tables.private or tables.public)):
        if given:
            yield Problem(in_cluster("vcn", key))


@check_of("OKE036", oke_site)
def vcn_holds_the_published_subnets(case: Case, site: Site) -> Iterator[Problem]:
    """Every subnet that the stack creates has a range: a stated one, or its part of the VCN."""
    vcn = site.cluster.ranges.nodes
    lacking = [name for name in site.subnets if name not in site.cluster.vcn.subnet_ids and site.range_of(name) is None]
    if lacking and vcn is not None:
        needed = vcn.max_prefixlen - max(site.facts.subnets[name].new_bits for name in lacking)
        yield Problem(
            in_cluster("ranges", "nodes"),
            f"{vcn} is too small for the published plan's {', '.join(lacking)}",
            f"write a range of /{needed} or shorter, or state those subnets under vcn.subnets",
        )


@check_of("OKE037", oke_cluster)
def ranges_are_ipv4(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The ranges of VCN, subnets, pods and services are IPv4."""
    stated: dict[Location, IPNetwork] = {("ranges", name): network for name, network in cluster.ranges.own().items()}
    stated |= {("vcn", "subnets", name): network for name, network in cluster.vcn.subnets.items()}
    for place, network in stated.items():
        if network.version != 4:
            yield Problem(in_cluster(*place), f"{network} is IPv6")


@check_of("OKE028", oke_cluster)
def bastion_can_be_used(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """A bastion has allowed ranges, and its hosts have an image and an SSH public key."""
    if cluster.access.mode == "none":
        return
    access = cluster.access
    if not access.allowed:
        yield Problem(
            in_cluster("access", "allowed"), "no range may reach the bastion", "add the ranges from which people come"
        )
    if access.mode != "bastion-host":
        return
    if not access.ssh_public_keys:
        yield Problem(
            in_cluster("access", "sshPublicKeys"),
            "no SSH public key is configured for the bastion hosts",
            "add the public keys of people",
        )
    for key, host in (("bastion", access.bastion), ("operator", access.operator)):
        if host.image_id is None:
            yield Problem(
                in_cluster("access", key, "imageId"),
                f"the {key} host has no image to start from",
                "add the id of an image of the region",
            )


@check_of("OKE029", oke_cluster)
def bastion_is_not_open_to_all(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The bastion can be reached from stated ranges only."""
    if cluster.access.mode == "none":
        return
    for place, said in wide_ranges(cluster.access.allowed):
        yield Problem(in_cluster("access", "allowed", place), said)


@check_of("OKE043", oke_cluster)
def vcn_has_an_allowed_size(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The VCN's range is neither too large nor too small."""
    facts = case.known.oke_clusters
    network = cluster.ranges.nodes
    if network is not None and not facts.shortest_vcn_prefix <= network.prefixlen <= facts.longest_vcn_prefix:
        yield Problem(
            in_cluster("ranges", "nodes"),
            f"{network} is not a valid size of a VCN",
            f"write a range from /{facts.shortest_vcn_prefix} to /{facts.longest_vcn_prefix}",
        )


@check_of("OKE032", oke_cluster)
def private_endpoint_can_be_reached(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """A private API server can be reached through a bastion, or the stack runs within the VCN."""
    if cluster.endpoint.public or cluster.access.mode != "none":
        return
    if cluster.kubeconfig.endpoint != "private":
        yield Problem(in_cluster("endpoint", "public"))


def _subnets(case: Case, cluster: OkeClusterSpec) -> dict[str, IPNetwork]:
    """Range of each subnet that the cluster will have: as stated, else of the published plan where the VCN's is known.

    Without VCN-native networking there is no pod subnet.
    """
    vcn, stated = cluster.ranges.nodes, cluster.vcn.subnets
    found: dict[str, IPNetwork] = {}
    for name, plan in case.known.oke_clusters.subnets.items():
        network = stated.get(name) or (plan.within(vcn) if vcn is not None else None)
        if name in cluster.vcn.subnet_ids and name not in stated:
            continue
        if network is not None and (name != "pods" or cluster.cni == "vcn-native"):
            found[name] = network
    return found


@check_of("OKE006", oke_cluster)
def ranges_leave_the_rdma_range_alone(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Pods, services and nodes have no addresses of the hosts' RDMA interfaces; a supernet is checked by itself."""
    rdma = case.known.oke_clusters.rdma_range
    if not case.shape.nics:
        return
    supernet = case.spec.fabric.addressing.supernet if case.demand.layout != "none" else None
    for name, network in cluster.ranges.own().items():
        if has_overlap(network, rdma) and not has_overlap(network, supernet):
            yield Problem(
                in_cluster("ranges", name),
                f"{network} overlaps {rdma}, in which the hosts' RDMA interfaces have their addresses",
                f"write a range outside {rdma}",
            )


@check_of("OKE007", oke_cluster)
def pod_subnet_holds_the_pods(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """The pod subnet has an address for every pod that the nodes may run."""
    if cluster.cni != "vcn-native":
        return
    subnet = _subnets(case, cluster).get("pods")
    pods = cluster.system_pool.nodes * case.known.oke_clusters.system_max_pods
    pods += sum(most_nodes(pool) * pool.max_pods for pool in cluster.every_pool)
    if subnet is not None and pods > subnet.num_addresses:
        needed = subnet.max_prefixlen - (pods - 1).bit_length()
        yield Problem(
            _at("pods"),
            f"{subnet} has {subnet.num_addresses} addresses, where the nodes may run {pods} pods",
            f"write a range of /{needed} or shorter, or a smaller maxPods",
        )


@check_of("OKE013", oke_cluster)
def subnets_are_in_the_vcn(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """Every stated subnet is a part of the VCN's range."""
    vcn = cluster.ranges.nodes
    if vcn is None:
        return
    for name, network in cluster.vcn.subnets.items():
        # Of two ranges that overlap, the one with the longer prefix is inside the other.
        if not has_overlap(vcn, network) or network.prefixlen < vcn.prefixlen:
            yield Problem(_at(name), f"{network} is not in the VCN's range {vcn}", f"write a range within {vcn}")


@check_of("OKE014", oke_cluster)
def subnets_do_not_overlap(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """No stated subnet overlaps another one, stated or of the published plan."""
    for (name, network), (other, second) in combinations(_subnets(case, cluster).items(), 2):
        stated = [key for key in (other, name) if key in cluster.vcn.subnets]
        if stated and has_overlap(network, second):
            first = stated[0]
            rest, taken = (name, network) if first == other else (other, second)
            yield Problem(
                _at(first),
                f"it overlaps {taken}, the subnet {rest}{'' if rest in stated else ' of the published plan'}",
            )


@check_of("OKE040", oke_cluster)
def pods_range_is_not_stated_twice(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """No range is stated for pods that have addresses of a subnet."""
    if not cluster.pods_of_own_subnet or cluster.ranges.pods is None:
        return
    subnet = _subnets(case, cluster).get("pods")
    if subnet != cluster.ranges.pods:
        yield Problem(
            in_cluster("ranges", "pods"),
            f"pods have addresses of the subnet {subnet or 'pods'}, not of {cluster.ranges.pods}",
        )


@check_of("OKE046", oke_cluster)
def pods_are_outside_the_vcn(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """With flannel the pods' range overlaps neither the VCN nor one of its subnets."""
    pods = cluster.ranges.pods
    if cluster.cni != "flannel" or pods is None:
        return
    networks = {"the VCN": cluster.ranges.nodes} if cluster.ranges.nodes else _subnets(case, cluster)
    for name, network in networks.items():
        if has_overlap(pods, network):
            yield Problem(
                in_cluster("ranges", "pods"),
                f"{pods} overlaps {network} ({name}), and with cni flannel Oracle refuses pods in the VCN",
            )
            return


@check_of("OKE047", oke_cluster)
def flannel_has_a_part_for_every_node(case: Case, cluster: OkeClusterSpec) -> Iterator[Problem]:
    """With flannel the pods' range has a part for every node, those of the system pool and of cycling among them."""
    pods = cluster.ranges.pods if cluster.cni == "flannel" else None
    nodes = cluster.system_pool.nodes + sum(most_nodes(pool) + _surge(case, pool) for pool in cluster.pools)
    nodes += sum(map(most_nodes, cluster.other_pools))
    prefix = case.known.oke_clusters.flannel_node_prefix
    return node_parts_problem(in_cluster("ranges", "pods"), pods, prefix, nodes, "one a node with cni flannel")


@check("OKE049")
def hosts_have_addresses_of_the_supernet(case: Case) -> Iterator[Problem]:
    """The supernet is not the range of the hosts' RDMA interfaces, which the proof does not count."""
    supernet, rdma = case.spec.fabric.addressing.supernet, case.known.oke_clusters.rdma_range
    on_oracles = case.shape.provider == "oci" and bool(case.shape.nics)
    if on_oracles and case.demand.layout != "none" and has_overlap(supernet, rdma):
        yield Problem(
            in_fabric("addressing", "supernet"),
            f"{supernet} overlaps {rdma}, in which the hosts' RDMA interfaces have addresses of Oracle's; the proof "
            "keeps pods apart from one another, and does not know the hosts' addresses",
        )


def _surge(case: Case, pool: OkePoolSpec) -> int:
    """Machines more than the pool's that there may be while it cycles."""
    surge = case.known.oke_clusters.cycling[pool.cycling].surge if pool.cycling else None
    if not surge:
        return 0
    return -(-pool.nodes * int(surge[:-1]) // 100) if surge.endswith("%") else int(surge)
