"""Rounds of pairs as the script of the verification chooses them, for every place and number of bad nodes and paths."""

import random
import subprocess
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from math import ceil, log2
from typing import NamedTuple

import pytest

from gpu_fabric.nccl.verdict.pairs import Culprits, Pair, culprits
from gpu_fabric.on_nodes import FOLDER


@cache
def next_pairs(nodes: int, number: int, met: tuple[tuple[int, int, bool], ...]) -> tuple[tuple[int, int], ...]:
    lines = "".join(f"{first} {second} {'good' if good else 'bad'}\n" for first, second, good in met)
    command = ["bash", str(FOLDER / "verification.sh"), "pairs", str(nodes), str(number)]
    said = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert said.stderr == ""
    return tuple((int(first), int(second)) for first, second in map(str.split, said.stdout.splitlines()))


class Played(NamedTuple):
    """The number of rounds, and what they show."""

    rounds: int
    found: Culprits


def play(nodes: int, bad: Iterable[int] = (), paths: Iterable[tuple[int, int]] = ()) -> Played:
    wrong, slow = set(bad), {frozenset(path) for path in paths}
    met: list[tuple[int, int, bool]] = []
    for number in range(1, 100):
        pairs = next_pairs(nodes, number, tuple(met))
        if not pairs:
            return Played(number - 1, culprits(Pair(0, *outcome) for outcome in met))
        taking_part = [node for pair in pairs for node in pair]
        assert len(taking_part) == len(set(taking_part)), "a node is in two pairs of one round"
        met += [(*pair, wrong.isdisjoint(pair) and frozenset(pair) not in slow) for pair in pairs]
    raise AssertionError("the rounds do not end")


def assert_found(nodes: int, bad: Iterable[int], most: int) -> None:
    wrong = sorted(bad)
    rounds, found = play(nodes, wrong)
    assert (sorted(found.nodes), found.paths, found.undecided) == (wrong, (), ())
    assert sorted(found.proven) == sorted(set(range(nodes)) - set(wrong))
    assert rounds <= most


def bound(nodes: int) -> int:
    return 2 + ceil(log2(nodes))


@pytest.mark.parametrize("nodes", range(3, 9))
def test_every_minority_of_bad_nodes_is_found_in_rounds_by_the_logarithm(nodes: int) -> None:
    for count in range((nodes - 1) // 2 + 1):
        for bad in combinations(range(nodes), count):
            assert_found(nodes, bad, bound(nodes))


@pytest.mark.parametrize("nodes", [64, 255, 400])
@pytest.mark.parametrize("part", [0.02, 0.125, 0.25, 0.33, 0.49])
def test_bad_nodes_among_hundreds_are_found(nodes: int, part: float) -> None:
    count = max(1, int(nodes * part))
    most = 4 if part <= 0.25 else bound(nodes)
    chance = random.Random(nodes * 1000 + count)  # noqa: S311
    for _ in range(5):
        assert_found(nodes, chance.sample(range(nodes), count), most)
    # A whole rack, and every other node.
    for bad in (range(count), range(0, 2 * count, 2), range(nodes - count, nodes)):
        assert_found(nodes, bad, most)


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 17, 64])
def test_a_slow_path_between_any_two_neighbours_is_found_and_no_node_is_blamed(nodes: int) -> None:
    for first in range(nodes):
        path = (first, (first + 1) % nodes)
        rounds, found = play(nodes, paths=[path])
        assert (found.paths, found.nodes, found.undecided) == ((tuple(sorted(path)),), {}, ())
        assert rounds <= bound(nodes)


def test_a_bad_node_and_a_slow_path_are_told_apart() -> None:
    for node, first in ((node, first) for node in range(12) for first in range(12)):
        path = tuple(sorted((first, (first + 1) % 12)))
        if node not in path:
            found = play(12, [node], [path]).found
            assert (list(found.nodes), found.paths) == ([node], (path,))


@pytest.mark.parametrize("nodes", [3, 8, 300])
def test_where_all_nodes_are_bad_three_rounds_end_the_search_and_blame_none(nodes: int) -> None:
    rounds, found = play(nodes, range(nodes))
    assert (rounds <= 3, found.nodes, found.proven) == (True, {}, frozenset())


def test_a_majority_of_bad_nodes_blames_no_good_one() -> None:
    chance = random.Random(7)  # noqa: S311
    for nodes in (6, 9, 16, 64):
        for _ in range(10):
            bad = chance.sample(range(nodes), nodes * 3 // 4)
            assert set(play(nodes, bad).found.nodes) <= set(bad)


def test_every_two_neighbours_have_met_where_all_are_good() -> None:
    for nodes in (3, 4, 7, 32):
        rounds, found = play(nodes)
        assert rounds == 2 + nodes % 2
        assert found == Culprits(frozenset(range(nodes)), {}, (), ())
