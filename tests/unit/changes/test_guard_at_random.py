"""Random edits of running stacks: the guard stops those by which an address in use changes hands, and no others."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from address_holders import loses
from changes import Changes
from diff_edits import plan_of
from test_guard_footprint import by_outputs

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.findings import ConfigurationError

_AT = "fabric.addressing"
_POOLS = "cluster.pools"
_NICS = [f"enp{11 + nic}s0f0np0" for nic in range(8)]
_OWN: Changes = {"cluster.shapes.guide-cx5.nics": [{"interface": name} for name in _NICS]}
_PER_NODE = {"layout": "per-node", "supernet": "172.16.0.0/16", "nodePrefixLength": 27}

BASES: tuple[tuple[str, str, Changes], ...] = (
    ("dev", "BM.GPU.H100.8", {}),
    ("roce-macvlan", "BM.GPU.H200.8", {"cluster.pools[0].nodes": 4}),
    (
        "roce-macvlan",
        "BM.GPU.H200.8",
        {_AT: {"supernet": "172.16.0.0/20", "prefixLength": 25, "exclude": ["172.16.0.100"]}},
    ),
    ("roce-macvlan", "BM.GPU.H200.8", {_AT: _PER_NODE}),
    ("roce-macvlan", "BM.GPU.H200.8", {_AT: {**_PER_NODE, "gateway": "first", "reservedFirst": 2}}),
    ("whereabouts", "BM.GPU.H200.8", {}),
    ("whereabouts", "BM.GPU.H200.8", {f"{_AT}.layout": "flat"}),
    ("spiderpool-macvlan", "guide-cx5", {**_OWN, "fabric.podsPerNic": 4, f"{_AT}.reservedLast": 60}),
    ("spiderpool-sriov-per-node", "guide-cx5", {**_OWN, "fabric.vfsPerNic": 4}),
    ("sriov-per-node", "BM.GPU.H100.8", {}),
)


def _nodes(chance: Random, shape: str) -> dict[str, Any]:
    """One or two pools of nodes, with or without names, and with a number of their own."""
    named, pools = chance.random() < 0.6, []
    for pool in "ab"[: chance.choice([1, 1, 2])]:
        names = [f"{pool}{node}" for node in range(chance.choice([1, 2, 3, 4]))]
        chance.shuffle(names)
        if named and chance.random() < 0.2:
            names.insert(chance.randrange(len(names)), "")
        of_pool: dict[str, Any] = {"name": pool, "shape": shape, "nodes": len([*filter(None, names)])}
        if named:
            of_pool["nodeNames"] = names
            if chance.random() < 0.4:
                of_pool["firstShare"] = {"a": 0, "b": chance.choice([5, 8])}[pool]
        pools.append(of_pool)
    labels = chance.choice([{}, {}, {"team": "a"}, {"team": "b"}, {"team": "a", "row": "1"}])
    return {_POOLS: [{**pool, **({"labels": labels} if labels else {})} for pool in pools]}


def _rails(chance: Random) -> list[dict[str, Any]]:
    names, buses = ["ens1", "ens2", "ens9"], ["0000:0c:00.0", "0000:2a:00.0", "0000:41:00.0"]
    chance.shuffle(names)
    chance.shuffle(buses)
    facts: list[dict[str, Any]] = [{"rail": 0}, {"rail": 1}]
    if chance.random() < 0.8:
        facts = [{**fact, "interface": names[place]} for place, fact in enumerate(facts)]
    if chance.random() < 0.5:
        facts = [{**fact, "pci": buses[place]} for place, fact in enumerate(facts)]
    return facts


def _shuffled(chance: Random) -> list[dict[str, Any]]:
    nics = [*_NICS]
    one, other = chance.randrange(8), chance.randrange(8)
    nics[one], nics[other] = nics[other], nics[one]
    return [{"interface": name} for name in nics]


KEYS: dict[str, Callable[[Random], Any]] = {
    f"{_AT}.reservedFirst": lambda chance: chance.choice([0, 1, 2, 3, 9]),
    f"{_AT}.reservedLast": lambda chance: chance.choice([0, 1, 8, 11, 40, 60, 61]),
    f"{_AT}.gateway": lambda chance: chance.choice(["none", "first", "last"]),
    f"{_AT}.exclude": lambda chance: chance.choice([["172.16.0.3"], ["172.17.0.4-172.17.0.5"], ["192.168.0.200"], []]),
    f"{_AT}.addressesPerNode": lambda chance: chance.choice([4, 8, 16]),
    f"{_AT}.nodePrefixLength": lambda chance: chance.choice([26, 27, 28]),
    f"{_AT}.prefixLength": lambda chance: chance.choice([20, 24, 25]),
    f"{_AT}.firstRailSlot": lambda chance: chance.choice([0, 1]),
    f"{_AT}.railSlots": lambda chance: chance.choice([8, 16]),
    f"{_AT}.spareNodes": lambda chance: chance.choice([0, 2]),
    f"{_AT}.ipam": lambda chance: chance.choice(["nv-ipam", "whereabouts"]),
    f"{_AT}.layout": lambda chance: chance.choice(["per-rail", "flat"]),
    "fabric.podsPerNic": lambda chance: chance.choice([1, 2, 4, 8]),
    "fabric.rails": _rails,
    "fabric.hostPreparation": lambda chance: chance.choice([{}, {"addresses": True}]),
}


def _edit(chance: Random, stack: str, shape: str) -> Changes:
    changes: dict[str, Any] = {}
    for key in chance.sample([*KEYS], chance.choice([0, 1, 1, 2])):
        changes[key] = KEYS[key](chance)
    if chance.random() < 0.6:
        changes |= _nodes(chance, shape)
    if shape == "guide-cx5" and chance.random() < 0.2:
        changes["cluster.shapes.guide-cx5.nics"] = _shuffled(chance)
    return changes


@cache
def _is_planned(stack: str, changes: str) -> bool:
    try:
        plan_of(stack, eval(changes))  # noqa: S307  # a text of this module's own
    except ConfigurationError:
        return False
    return True


def pairs(number: int, first: int = 0) -> list[tuple[str, Changes, Changes]]:
    """Pairs of plans of one stack, the second one edited: the stack, the changes before, and those after."""
    found = []
    for place in range(first, first + number):
        chance = Random(f"edit {place}")  # noqa: S311
        stack, shape, base = chance.choice(BASES)
        before = {**base, **(_edit(chance, stack, shape) if chance.random() < 0.7 else {})}
        after = {**before, **_edit(chance, stack, shape)}
        if before != after and _is_planned(stack, repr(before)) and _is_planned(stack, repr(after)):
            found.append((stack, before, after))
    return found


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_the_guard_stops_random_edits_by_which_an_address_changes_hands_and_no_others(first: int) -> None:
    found = pairs(50, first)
    for stack, before, after in found:
        base, head = plan_of(stack, before), plan_of(stack, after)
        stopped = [f"{danger.resource}: {danger.why}" for danger in dangers(plan_diff(base, head))]
        reasons = loses(base, head)
        changes = {key: value for key, value in after.items() if before.get(key) != value}
        assert bool(stopped) == bool(reasons), f"{stack} {before} with {changes}: {stopped[:2]} for {reasons[:2]}"
        assert bool(by_outputs(stack, before, after)) == bool(reasons)
    assert len(found) > 10
