"""Ranges of addresses: whether two overlap, and whether one is the whole internet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, collapse_addresses

from gpu_fabric.rules.registry import Problem
from gpu_fabric.spec.network_types import IPNetwork

# No organization has been given more: 0/8 to 255/8 of IPv4, and /16 of IPv6.
_MOST_OF_ONE = {4: 8, 6: 16}


def has_overlap(first: IPNetwork | None, second: IPNetwork | None) -> bool:
    """Whether two ranges have an address in common; a range that is not stated, or of another IP version, has none."""
    return first is not None and second is not None and first.version == second.version and first.overlaps(second)


def node_parts_problem(path: str, pods: IPNetwork | None, prefix: int, nodes: int, whose: str) -> Iterator[Problem]:
    """The problem of a range of pods that has no part with the prefix for every node."""
    if not isinstance(pods, IPv4Network):
        return
    room = 1 << (prefix - pods.prefixlen) if pods.prefixlen <= prefix else 0
    if nodes > room:
        yield Problem(
            path,
            f"{pods} holds {room} parts of /{prefix}, {whose}, where {nodes} nodes may exist",
            f"write a range of /{prefix - (nodes - 1).bit_length()} or shorter",
        )


def wide_ranges(networks: Iterable[IPNetwork]) -> Iterator[tuple[int, str]]:
    """The numbers of networks that alone or together let in more than one organization can own, and what they are."""
    rest: list[tuple[int, IPNetwork]] = []
    for number, network in enumerate(networks):
        if network.prefixlen < _MOST_OF_ONE[network.version]:
            size = "more than any one organization has" if network.prefixlen else "every address"
            yield number, f"{network} is {size}"
        else:
            rest.append((number, network))
    for version in _MOST_OF_ONE:
        mine = [(number, network) for number, network in rest if network.version == version]
        for whole in collapse_addresses(network for _, network in mine):  # type: ignore[type-var]
            if whole.prefixlen < _MOST_OF_ONE[version]:
                for number, network in mine:
                    if network.subnet_of(whole):  # type: ignore[arg-type]
                        yield number, f"{network} and others here make {whole}, more than any one organization has"
