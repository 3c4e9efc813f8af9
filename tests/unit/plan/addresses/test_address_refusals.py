"""What is said of an address plan that does not fit: by how much, and what to write instead."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from planned_addresses import Json, answer, refused
from program_lists import LAYOUTS

from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import Refusal

PlanWith = Callable[[Any], Plan]


MISTAKES = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", MISTAKES, ids=[f"{row['key']}-{number}" for number, row in enumerate(MISTAKES)])
def test_a_refusal_says_what_is_wrong_by_how_much_and_what_to_write(row: Json) -> None:
    refusal = refused(row["section"], **row.get("demand", {}))

    assert (refusal.key, refusal.message, refusal.remedy) == (row["key"], row["message"], row["remedy"])


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
