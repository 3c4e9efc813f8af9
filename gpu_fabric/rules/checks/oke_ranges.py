"""Checks of the group `oke`: ranges of the VCN, its subnets and the pods."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.checks.oke import oke_cluster
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import OkeClusterSpec
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.oke import OkePoolSpec
from gpu_fabric.spec.places import dotted


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


def _at(name: str) -> str:
    return dotted(("cluster", "vcn", "subnets", name))


@check("OKE006")
def ranges_leave_the_rdma_range_alone(case: Case) -> Iterator[Problem]:
    """Pods, services and nodes have no addresses of the hosts' RDMA interfaces; a supernet is checked by itself."""
    cluster, rdma = oke_cluster(case), case.known.oke_clusters.rdma_range
    if cluster is None or not case.shape.nics:
        return
    supernet = case.spec.fabric.addressing.supernet
    ranges = cluster.ranges
    for name, network in (("pods", ranges.pods), ("services", ranges.services), ("nodes", ranges.nodes)):
        if network is None or not _overlap(network, rdma):
            continue
        if case.demand.layout == "none" or supernet is None or not _overlap(network, supernet):
            yield Problem(
                dotted(("cluster", "ranges", name)),
                f"{network} overlaps {rdma}, in which the hosts' RDMA interfaces have their addresses",
                f"write a range outside {rdma}",
            )


@check("OKE007")
def pod_subnet_holds_the_pods(case: Case) -> Iterator[Problem]:
    """The pod subnet has an address for every pod that the nodes may run."""
    cluster = oke_cluster(case)
    if cluster is None or cluster.cni != "vcn-native":
        return
    subnet = _subnets(case, cluster).get("pods")
    pods = cluster.system_pool.nodes * case.known.oke_clusters.system_max_pods
    pods += sum(pool.nodes * pool.max_pods for pool in cluster.pools)
    if subnet is not None and pods > subnet.num_addresses:
        needed = subnet.max_prefixlen - (pods - 1).bit_length()
        yield Problem(
            _at("pods"),
            f"{subnet} has {subnet.num_addresses} addresses, where the nodes may run {pods} pods",
            f"write a range of /{needed} or shorter, or a smaller maxPods",
        )


@check("OKE013")
def subnets_lie_in_the_vcn(case: Case) -> Iterator[Problem]:
    """Every stated subnet is a part of the VCN's range."""
    cluster = oke_cluster(case)
    vcn = cluster.ranges.nodes if cluster else None
    if cluster is None or vcn is None:
        return
    for name, network in cluster.vcn.subnets.items():
        # Two ranges that overlap lie in one another; the longer prefix lies inside.
        if not _overlap(vcn, network) or network.prefixlen < vcn.prefixlen:
            yield Problem(_at(name), f"{network} is not in the VCN's range {vcn}", f"write a range within {vcn}")


@check("OKE014")
def subnets_do_not_overlap(case: Case) -> Iterator[Problem]:
    """No stated subnet overlaps another one, stated or of the published plan."""
    cluster = oke_cluster(case)
    if cluster is None:
        return
    for (name, network), (other, second) in combinations(_subnets(case, cluster).items(), 2):
        stated = [key for key in (other, name) if key in cluster.vcn.subnets]
        if stated and _overlap(network, second):
            first = stated[0]
            rest, taken = (name, network) if first == other else (other, second)
            yield Problem(
                _at(first),
                f"it overlaps {taken}, the subnet {rest}{'' if rest in stated else ' of the published plan'}",
                "write ranges that are disjoint",
            )


@check("OKE040")
def pods_range_is_not_stated_twice(case: Case) -> Iterator[Problem]:
    """No range is stated for pods that have addresses of a subnet."""
    cluster = oke_cluster(case)
    if cluster is None or not cluster.pods_of_own_subnet or cluster.ranges.pods is None:
        return
    subnet = _subnets(case, cluster).get("pods")
    if subnet != cluster.ranges.pods:
        yield Problem(
            dotted(("cluster", "ranges", "pods")),
            f"pods have addresses of the subnet {subnet or 'pods'}, not of {cluster.ranges.pods}",
            "remove it; where pods shall have another part of the VCN, write that as cluster.vcn.subnets.pods",
        )


@check("OKE046")
def pods_are_outside_the_vcn(case: Case) -> Iterator[Problem]:
    """With flannel the pods' range overlaps neither the VCN nor one of its subnets."""
    cluster = oke_cluster(case)
    pods = cluster.ranges.pods if cluster and cluster.cni == "flannel" else None
    if cluster is None or pods is None:
        return
    networks = {"the VCN": cluster.ranges.nodes} if cluster.ranges.nodes else _subnets(case, cluster)
    for name, network in networks.items():
        if _overlap(pods, network):
            yield Problem(
                dotted(("cluster", "ranges", "pods")),
                f"{pods} overlaps {network} ({name}), and with cni flannel Oracle refuses pods in the VCN",
                "write a range outside the VCN, or cni: vcn-native, which gives pods addresses of the VCN",
            )
            return


@check("OKE047")
def flannel_has_a_part_for_every_node(case: Case) -> Iterator[Problem]:
    """With flannel the pods' range has a part for every node, those of the system pool and of cycling among them."""
    cluster, prefix = oke_cluster(case), case.known.oke_clusters.flannel_node_prefix
    pods = cluster.ranges.pods if cluster and cluster.cni == "flannel" else None
    if cluster is None or not isinstance(pods, IPv4Network):
        return
    nodes = cluster.system_pool.nodes + sum(pool.nodes + _surge(case, pool) for pool in cluster.pools)
    room = 1 << (prefix - pods.prefixlen) if pods.prefixlen <= prefix else 0
    if nodes > room:
        yield Problem(
            dotted(("cluster", "ranges", "pods")),
            f"{pods} holds {room} parts of /{prefix}, one a node with cni flannel, where {nodes} nodes may exist",
            f"write a range of /{prefix - (nodes - 1).bit_length()} or shorter",
        )


@check("OKE049")
def hosts_have_addresses_of_the_supernet(case: Case) -> Iterator[Problem]:
    """The supernet is not the range of the hosts' RDMA interfaces, which the proof does not count."""
    supernet, rdma = case.spec.fabric.addressing.supernet, case.known.oke_clusters.rdma_range
    on_oracles = case.shape.provider == "oci" and bool(case.shape.nics)
    if on_oracles and supernet is not None and case.demand.layout != "none" and _overlap(supernet, rdma):
        yield Problem(
            dotted(("fabric", "addressing", "supernet")),
            f"{supernet} overlaps {rdma}, in which the hosts' RDMA interfaces have addresses of Oracle's; the proof "
            "keeps pods apart from one another, and does not know the hosts' addresses",
            "compare them with the plan (`ip -br address` on a node), or write a supernet outside, such as "
            "172.16.0.0/16",
        )


def _surge(case: Case, pool: OkePoolSpec) -> int:
    """Machines more than the pool's that there may be while it cycles."""
    surge = case.known.oke_clusters.cycling[pool.cycling].surge if pool.cycling else None
    if not surge:
        return 0
    return -(-pool.nodes * int(surge[:-1]) // 100) if surge.endswith("%") else int(surge)


def _overlap(first: IPNetwork, second: IPNetwork) -> bool:
    return first.version == second.version and first.overlaps(second)
