"""Sets of addresses as runs of integers, for the checker: written without the planner's own."""

import ipaddress
from collections.abc import Iterable

Runs = list[tuple[int, int]]
"""First and last address of each run, both included."""

Net = ipaddress.IPv4Network | ipaddress.IPv6Network


def ends(network: Net) -> tuple[int, int]:
    """First and last address of a network."""
    return int(network[0]), int(network[-1])


def hosts(network: tuple[int, int], version: int) -> tuple[int, int]:
    """First and last address that an interface can hold: RFC 3021 and RFC 6164 for two, RFC 4291 2.6.1 for IPv6."""
    first, last = network
    if last - first <= 1:
        return first, last
    return first + 1, last - 1 if version == 4 else last


def runs_of(text: str) -> Runs:
    """The runs of `10.0.0.1-10.0.0.4,10.0.0.9`; of a prefix or an empty text none."""
    found = []
    for part in text.split(",") if text else []:
        low, _, high = part.partition("-")
        found.append((int(ipaddress.ip_address(low)), int(ipaddress.ip_address(high or low))))
    return found


def span(text: str) -> tuple[int, int]:
    """The ends of an address, a range `first-last` or a network, as a stack file writes them."""
    return ends(ipaddress.ip_network(text)) if "/" in text else runs_of(text.replace(" ", ""))[0]


def less(runs: Runs, taken: Iterable[tuple[int, int]]) -> Runs:
    """What is left of the runs without those that are taken."""
    for low, high in taken:
        left = []
        for first, last in runs:
            if high < first or last < low:
                left.append((first, last))
                continue
            left += [(first, low - 1)] if first < low else []
            left += [(high + 1, last)] if high < last else []
        runs = left
    return sorted(runs)


def size(runs: Runs) -> int:
    """How many addresses there are."""
    return sum(last - first + 1 for first, last in runs)


def within(runs: Runs, first: int, last: int) -> Runs:
    """The part of the runs between two addresses, both included."""
    return [(max(a, first), min(b, last)) for a, b in runs if a <= last and first <= b]


def merged(runs: Iterable[tuple[int, int]]) -> Runs:
    """The union of runs."""
    found: Runs = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
