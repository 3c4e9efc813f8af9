"""Checks of the group `oke`: ranges of the VCN, its subnets and the pods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from fabric.plan.case import Case
from fabric.rules.checks.oke import oke_cluster
from fabric.rules.registry import Problem, check
from fabric.spec import OkeCluster
from fabric.spec.network_types import IPNetwork
from fabric.spec.places import dotted


def _subnets(case: Case, cluster: OkeCluster) -> dict[str, IPNetwork]:
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
            yield Problem(_at(name), f"{network} does not lie in the VCN's range {vcn}", f"write a range within {vcn}")


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


def _overlap(first: IPNetwork, second: IPNetwork) -> bool:
    return first.version == second.version and first.overlaps(second)
