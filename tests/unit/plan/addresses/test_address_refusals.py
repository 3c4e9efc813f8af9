"""What is said of an address plan that does not fit: by how much, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from planned_addresses import Json, answer, refused
from program_lists import LAYOUTS

from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import Refusal

PlanWith = Callable[[Any], Plan]


# What a user gets wrong: the section, what the planner says, and what it proposes.
MISTAKES: list[tuple[Json, Json, str, str, str]] = [
    (
        {"supernet": "172.16.0.0/16", "prefixLength": 40, "addressesPerNode": 1},
        {"nodes": 2},
        "prefixLength",
        "172.16.0.0/16 cut into /40 leaves no room for nodes",
        "write prefixLength: 30, or leave prefixLength out",
    ),
    (
        {"supernet": "172.16.0.0/16", "prefixLength": 40, "addressesPerNode": 1},
        {"nodes": 2, "addresses_per_nic": 3},
        "prefixLength",
        "172.16.0.0/16 cut into /40 leaves no room for nodes",
        "leave prefixLength and addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/17", "railSlots": 8, "nodePrefixLength": 31},
        {"layout": "per-node", "nodes": 2049},
        "supernet",
        "2049 nodes take a /31 each, but 10.0.0.0/20 is cut into 2048: 1 short",
        "use a supernet of /16 or larger",
    ),
    (
        {"supernet": "192.168.0.0/24", "gateway": "first", "spareNodes": 8},
        {"rails": 16, "nodes": 120},
        "supernet",
        "128 nodes x 2 addresses = 256 per pool, but 192.168.0.0/28 has 13 usable (less gateway 192.168.0.1) and so "
        "serves 7 nodes: 243 addresses short",
        "use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/20"},
        {"nodes": 300},
        "supernet",
        "300 nodes x 1 address = 300 per pool, but 10.0.0.0/24 has 254 usable and so serves 254 nodes: 46 addresses "
        "short",
        "write railSlots: 8 (it cuts the range again, which moves addresses), or use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/8", "prefixLength": 30},
        {"rails": 16, "nodes": 3},
        "supernet",
        "3 nodes x 1 address = 3 per pool, but 10.0.0.0/30 has 2 usable and so serves 2 nodes: 1 address short",
        "write prefixLength: 29",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 100, "gateway": "first", "spareNodes": 1},
        {"layout": "flat", "rails": 16, "nodes": 655},
        "supernet",
        "656 nodes x 100 addresses = 65600 per pool, but 192.168.0.0/16 has 65533 usable (less gateway 192.168.0.1) "
        "and so serves 655 nodes: 67 addresses short",
        "write spareNodes: 0, or write addressesPerNode: 99, or leave addressesPerNode out, or use a supernet of /15 "
        "or larger",
    ),
    (
        {"supernet": "10.0.0.0/20", "prefixLength": 16},
        {},
        "prefixLength",
        "subnets of /16 are larger than the supernet 10.0.0.0/20",
        "write prefixLength: 23, or leave prefixLength out, or use a supernet of /13 or larger",
    ),
    (
        {"supernet": "10.0.0.0/22", "railSlots": 8},
        {"rails": 16},
        "railSlots",
        "10.0.0.0/22 holds 8 subnets of /25, but there are 16 rails",
        "write railSlots: 16 (it cuts the range again, which moves addresses)",
    ),
    (
        {"supernet": "10.0.0.0/16", "railSlots": 8},
        {"layout": "flat", "rails": 16},
        "railSlots",
        "a node's share has room for 8 rails, but there are 16",
        "write railSlots: 16 (it cuts the range again, which moves addresses)",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 8},
        {"layout": "flat", "rails": 16},
        "addressesPerNode",
        "a node takes 16 addresses from each pool, 8 are too few",
        "write addressesPerNode: 16, or leave addressesPerNode out",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 16, "gateway": "first"},
        {"layout": "flat", "rails": 16},
        "addressesPerNode",
        "gateway 192.168.0.1 is in one node's block of 16, which then has 15 of the 16 addresses the node takes",
        "write addressesPerNode: 17, or set gateway: none",
    ),
    (
        {"supernet": "10.0.0.0/16", "addressesPerNode": 1},
        {"smallest_block": 2},
        "addressesPerNode",
        "this release line's nv-ipam cuts blocks of 2 addresses and more",
        "write addressesPerNode: 2, or leave addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/12", "nodePrefixLength": 28},
        {"layout": "per-node", "addresses_per_nic": 28},
        "nodePrefixLength",
        "a node takes 28 addresses from each rail, but its /28 has 14 to give",
        "write nodePrefixLength: 27",
    ),
    (
        {"supernet": "10.0.0.0/12", "nodePrefixLength": 28, "addressesPerNode": 20},
        {"layout": "per-node"},
        "nodePrefixLength",
        "a node takes 20 addresses from each rail, but its /28 has 14 to give",
        "write nodePrefixLength: 27, or leave addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/24", "gateway": "last"},
        {"layout": "flat", "ipam": "spiderpool", "nodes": 20},
        "supernet",
        "20 nodes x 1 address = 20 per pool, but 10.0.0.0/28 has 14 usable and so serves 14 nodes: 6 addresses short",
        "write railSlots: 8 (it cuts the range again, which moves addresses), or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/9", "railSlots": 8},
        {"nodes": 2**20},
        "supernet",
        "1048576 nodes x 1 address = 1048576 per pool, but 10.0.0.0/12 has 1048574 usable and so serves 1048574 nodes: "
        "2 addresses short",
        "use a supernet of /8 or larger",
    ),
    (
        {"supernet": "10.0.0.0/28", "railSlots": 1, "addressesPerNode": 4, "reservedLast": 4},
        {"rails": 1, "nodes": 3, "addresses_per_nic": 3},
        "reservedLast",
        "node 3 gets a block of 4 from rail-00, of which 2 of the 3 addresses it takes are left after what is reserved "
        "and excluded",
        "write addressesPerNode: 3, or leave reservedFirst and reservedLast out",
    ),
    (
        {"supernet": "10.0.0.0/24", "railSlots": 1, "addressesPerNode": 2},
        {"rails": 1, "nodes": 250},
        "supernet",
        "250 nodes x 2 addresses = 500 per pool, but 10.0.0.0/24 has 254 usable and so serves 127 nodes: 246 addresses "
        "short",
        "write addressesPerNode: 1, or leave addressesPerNode out, or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/20", "nodePrefixLength": 24},
        {"layout": "per-node", "nodes": 1},
        "nodePrefixLength",
        "a node's prefix of /24 does not divide the rail's 10.0.0.0/24",
        "write nodePrefixLength: 31, or use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/16", "exclude": ["10.0.0.3-10.0.0.6"]},
        {},
        "exclude",
        "node 3 gets a block of 1 from rail-00, of which 0 of the 1 addresses it takes are left after what is reserved "
        "and excluded",
        "write addressesPerNode: 4, or keep those hosts' addresses outside the supernet, and leave exclude out",
    ),
    (
        {"supernet": "10.0.0.0/24", "reservedLast": 2},
        {"nodes": 14},
        "supernet",
        "14 nodes x 1 address = 14 per pool, but 10.0.0.0/28 has 12 usable (2 reserved): 2 addresses short",
        "write railSlots: 8 (it cuts the range again, which moves addresses), or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/8", "prefixLength": 30, "addressesPerNode": 100},
        {"rails": 16, "nodes": 2**15},
        "supernet",
        "32768 nodes x 100 addresses = 3276800 per pool, but 10.0.0.0/30 has 2 usable and so serves 0 nodes: 3276798 "
        "addresses short",
        "leave prefixLength and addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/8", "prefixLength": 30},
        {"rails": 16, "nodes": 2**21},
        "supernet",
        "2097152 nodes x 1 address = 2097152 per pool, but 10.0.0.0/30 has 2 usable and so serves 2 nodes: 2097150 "
        "addresses short",
        "ask for fewer nodes or addresses: no single change of `addressing` fits",
    ),
    (
        {"supernet": "10.0.0.0/21", "railSlots": 1, "gateway": "first"},
        {"rails": 1, "nodes": 2048, "ipam": "spiderpool"},
        "supernet",
        "2048 nodes x 1 address = 2048 per pool, but 10.0.0.0/21 has 2045 usable (less gateway 10.0.0.1) and so serves "
        "2045 nodes: 3 addresses short",
        "use a supernet of /20 or larger",
    ),
    (
        {"supernet": "172.16.0.0/20", "prefixLength": 24, "firstRailSlot": 9},
        {},
        "prefixLength",
        "172.16.0.0/20 holds 16 subnets of /24, of which the first 9 are passed over, but there are 8 rails",
        "write firstRailSlot: 8, or write prefixLength: 25, or use a supernet of /19 or larger",
    ),
    (
        {"supernet": "172.16.0.0/20", "firstRailSlot": 11},
        {},
        "railSlots",
        "172.16.0.0/20 holds 16 subnets of /24, of which the first 11 are passed over, but there are 8 rails",
        "write firstRailSlot: 8, or write railSlots: 32 (it cuts the range again, which moves addresses)",
    ),
]


@pytest.mark.parametrize(("section", "demand", "key", "message", "remedy"), MISTAKES)
def test_a_refusal_says_what_is_wrong_by_how_much_and_what_to_write(
    section: Json, demand: Json, key: str, message: str, remedy: str
) -> None:
    refusal = refused(section, **demand)

    assert (refusal.key, refusal.message, refusal.remedy) == (key, message, remedy)


def test_a_key_that_can_be_left_out_is_said() -> None:
    section = {"supernet": "192.168.0.0/16", "nodePrefixLength": 30, "reservedFirst": 3000}

    assert refused(section, layout="per-node", nodes=3).remedy == "leave reservedFirst out"


def test_no_single_change_is_said_to_fit_only_where_none_of_the_stated_keys_can_be_left_out() -> None:
    told, wrong = 0, []
    for number in range(60):
        chance = Random(f"left out {number}")  # noqa: S311
        section = _stated(chance)
        demand = {"layout": chance.choice(sorted({*LAYOUTS} - {"none"})), "nodes": chance.choice([3, 60, 3000])}
        found = answer(section, demand)
        if isinstance(found, Refusal) and "no single change" in found.remedy:
            told += 1
            for key in section.keys() - {"supernet"}:
                fewer = {name: value for name, value in section.items() if name != key}
                if not isinstance(answer(fewer, demand), Refusal):
                    wrong.append((section, demand, key))
    assert told > 2
    assert wrong == []


def _stated(chance: Random) -> Json:
    keys: Json = {
        "prefixLength": chance.randint(18, 30),
        "nodePrefixLength": chance.randint(22, 31),
        "addressesPerNode": chance.choice([1, 4, 200, 5000]),
        "reservedFirst": chance.choice([1, 30, 3000]),
        "reservedLast": chance.choice([1, 30, 3000]),
        "railSlots": chance.choice([1, 8, 64]),
        "firstRailSlot": chance.choice([1, 60]),
        "gateway": chance.choice(["first", "last"]),
        "spareNodes": chance.choice([4, 4000]),
    }
    kept = {key: value for key, value in keys.items() if chance.random() < 0.45}
    return {"supernet": chance.choice(["10.0.0.0/16", "10.0.0.0/20", "10.0.0.0/8"]), **kept}


@pytest.mark.parametrize("share", [2**30, 2**31])
def test_absurd_numbers_are_answered_at_once_and_with_a_number_that_fits(share: int) -> None:
    for ipam in ("nv-ipam", "spiderpool"):
        refusal = refused({"supernet": "10.0.0.0/8", "addressesPerNode": share}, ipam=ipam)
        assert refusal.remedy.startswith("write addressesPerNode: 131071, or leave addressesPerNode out")


def problems(plan_with: PlanWith, changes: Any) -> list[Finding]:
    with pytest.raises(ConfigurationError) as caught:
        plan_with(changes)
    return [entry for entry in caught.value.findings if entry.id.startswith("ADR")]


def test_a_supernet_in_a_range_in_use_is_an_error_that_names_the_range(plan_with: PlanWith) -> None:
    changes = {"cluster.ranges.reserved": ["172.16.0.0/12", "192.168.64.0/20"]}
    (found,) = problems(plan_with, {**changes, "fabric.addressing.supernet": "192.168.0.0/16"})

    assert (found.id, found.path) == ("ADR002", "gpu-fabric:fabric.addressing.supernet")
    assert found.message == "192.168.0.0/16 overlaps 192.168.64.0/20, the cluster's reserved[1] range"


def test_a_refusal_reaches_the_user_with_the_key_to_change(plan_with: PlanWith) -> None:
    (found,) = problems(plan_with, {"fabric.addressing.prefixLength": 31})

    assert (found.id, found.path) == ("ADR007", "gpu-fabric:fabric.addressing.prefixLength")
    assert found.remedy.startswith("write prefixLength: 2")
