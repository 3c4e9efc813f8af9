"""Checks of several groups about ranges of a cluster: what they are for, and who may come from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import collapse_addresses

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import dotted

# No organization has been given more: 0/8 to 255/8 of IPv4, and /16 of IPv6.
_MOST_OF_ONE = {4: 8, 6: 16}


def _of_the_cluster(case: Case) -> Iterator[tuple[str, IPNetwork]]:
    """The cluster's own ranges that are stated; further ones in use may be anything."""
    ranges = case.spec.cluster.ranges
    for name, network in (("pods", ranges.pods), ("services", ranges.services), ("nodes", ranges.nodes)):
        if network is not None:
            yield name, network


@check("ADR020")
def ranges_are_for_hosts(case: Case) -> Iterator[Problem]:
    """The cluster's ranges hold no addresses that hosts must not have."""
    for name, network in _of_the_cluster(case):
        for special in case.known.special_ranges:
            if special.hosts == "no" and _overlap(special.range, network):
                yield Problem(
                    dotted(("cluster", "ranges", name)),
                    f"{network} holds addresses of {special.range}, which is for {special.use} ({special.source})",
                    "write the range that the cluster has; usual ones are in 10.0.0.0/8 and 172.16.0.0/12",
                )
                break


@check("ADR021")
def ranges_leave_bridges_alone(case: Case) -> Iterator[Problem]:
    """No range of the cluster is one that container runtimes give to a bridge of their own on every host."""
    for name, network in _of_the_cluster(case):
        for special in case.known.special_ranges:
            if (
                special.hosts == "bridge"
                and special.range.version == network.version
                and special.range.overlaps(network)
            ):
                yield Problem(
                    dotted(("cluster", "ranges", name)),
                    f"{network} overlaps {special.range}, {special.use}: a host that has it reaches no other host "
                    f"there",
                    "write another range, or see that no node has that bridge (`ip addr show docker0`)",
                )


def almost_everybody(networks: Iterable[IPNetwork]) -> Iterator[tuple[int, str]]:
    """The numbers of networks that alone or together let in more than one organization can own, and what they are."""
    rest: list[tuple[int, IPNetwork]] = []
    for number, network in enumerate(networks):
        if network.prefixlen < _MOST_OF_ONE[network.version]:
            yield (
                number,
                f"{network} is {'more than any one organization has' if network.prefixlen else 'every address'}",
            )
        else:
            rest.append((number, network))
    for version in _MOST_OF_ONE:
        mine = [(number, network) for number, network in rest if network.version == version]
        for whole in collapse_addresses(network for _, network in mine):  # type: ignore[type-var]
            if whole.prefixlen < _MOST_OF_ONE[version]:
                for number, network in mine:
                    if network.subnet_of(whole):  # type: ignore[arg-type]
                        yield number, f"{network} and others here make {whole}, more than any one organization has"


def _overlap(first: IPNetwork, second: IPNetwork) -> bool:
    return first.version == second.version and first.overlaps(second)
