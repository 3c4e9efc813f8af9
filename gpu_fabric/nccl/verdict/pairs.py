"""The conclusion from pairs of nodes that were measured on a slow rail: which nodes, and which paths, are slow.

A pair is good only if both of its nodes and the path between them are; so one good pair proves a node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Pair(NamedTuple):
    """The outcome of two nodes, given by their places in the run, on one rail."""

    rail: int
    first: int
    second: int
    good: bool


@dataclass(frozen=True)
class Culprits:
    """The conclusion of all rounds on a rail; nodes are given by their places in the run.

    `nodes` are slow with at least two others, of which one is proven: with the proven ones that they were slow with.
    `paths` are slow although both of their nodes are proven. `undecided` are neither proven nor known to be slow.
    """

    proven: frozenset[int]
    nodes: dict[int, tuple[int, ...]]
    paths: tuple[tuple[int, int], ...]
    undecided: tuple[int, ...]


def culprits(pairs: Iterable[Pair]) -> Culprits:
    """What the pairs of one rail show."""
    measured = tuple(pairs)
    proven = frozenset(place for pair in measured if pair.good for place in (pair.first, pair.second))
    slow_with: defaultdict[int, set[int]] = defaultdict(set)
    for pair in measured:
        if not pair.good:
            slow_with[pair.first].add(pair.second)
            slow_with[pair.second].add(pair.first)
    suspects = {place: others for place, others in sorted(slow_with.items()) if place not in proven}
    nodes = {
        place: tuple(sorted(others & proven))
        for place, others in suspects.items()
        if len(others) > 1 and others & proven
    }
    paths = {
        (min(pair.first, pair.second), max(pair.first, pair.second))
        for pair in measured
        if not pair.good and {pair.first, pair.second} <= proven
    }
    return Culprits(proven, nodes, tuple(sorted(paths)), tuple(place for place in suspects if place not in nodes))
