"""That every test is collected, and that tests which begin early need nothing that is still being built.

pytest takes one file of a name, and leaves out another of the same in a run of all.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest
from committed_stacks import chosen, folder_of, stack_names
from tier_skips import skip_once

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from sandbox.controllers.table import binaries_for, controllers
from tests.conftest import BUILT_FOR, CORE_ALONE, TESTS, WHEN, part_of


def test_no_two_test_files_share_a_name(root: Path) -> None:
    names = Counter(file.name for file in (root / "tests").rglob("test_*.py"))

    assert [name for name, count in names.items() if count > 1] == []


def collected(folder: str, *fixtures: str) -> Mock:
    return Mock(path=Path(folder, "test_one.py"), fixturenames=fixtures, spec=["path", "fixturenames", "add_marker"])


def test_a_tier_that_cannot_run_is_skipped_once_with_its_reason_and_number() -> None:
    gpu, alone, other = [collected("/gpu", "nccl") for _ in range(3)], collected("/gpu"), collected("/unit", "nccl")
    items: list[pytest.Item] = [other, *gpu, alone]
    skip_once(items, Path("/gpu"), lambda: "", "nccl")
    assert items == [other, *gpu, alone]

    skip_once(items, Path("/gpu"), lambda: "no GPU", "nccl")

    assert items == [other, gpu[0], alone]
    (mark,) = (call.args[0] for call in gpu[0].add_marker.call_args_list)
    assert mark.mark.kwargs == {"reason": "3 tests of gpu: no GPU"}
    assert not other.add_marker.called
    assert not alone.add_marker.called


def test_no_file_that_begins_early_names_a_controller_or_a_stack_with_one(root: Path) -> None:
    files = {file.stem: file for folder in BUILT_FOR for file in (root / "tests" / folder).glob("test_*.py")}
    plans = {name: prepare(read_document(name, folder_of(name)), for_up=False) for name in stack_names()}
    late = {name for name, plan in plans.items() if binaries_for(release.name for release in plan.releases)}
    late |= {name for row in controllers() for name in (row.name, row.binary, row.release) if name}

    assert late & plans.keys()
    for stem in CORE_ALONE:
        text = files[stem].read_text(encoding="utf-8")
        assert "language_hosts" not in text, stem
        # A preview starts no controller.
        if files[stem].parent.name == "sandbox":
            assert late.isdisjoint(re.findall(r'"([\w-]+)"', text)), stem


def test_what_runs_at_its_own_time_alone_exists_and_says_why() -> None:
    functions = {
        name: file
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"^    def (test_\w+)|^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
        for name in name
        if name
    }
    for place, reason in WHEN["night"].items():
        file, _, name = place.partition("[")[0].partition("::")
        assert (TESTS / file).is_file(), place
        assert not name or functions[name] == TESTS / file, place
        assert reason, place
    files = {str(file.relative_to(TESTS)) for file in TESTS.rglob("test_*.py")}
    assert {*WHEN["slow"], *WHEN["every_stack"]} <= functions.keys() | files
    stacks = {*stack_names(), "dev", *(path.name.split(".")[1] for path in TESTS.parent.glob("examples/Pulumi.*"))}
    assert {name for names in WHEN["stacks"].values() for name in names} <= stacks


def test_the_parts_of_all_tests_have_each_file_once_and_are_alike() -> None:
    parts = Counter(part_of(3).values())

    assert parts.keys() == {1, 2, 3}
    assert max(parts.values()) - min(parts.values()) <= 1
    assert part_of(3).keys() == {*TESTS.rglob("test_*.py")}


def test_of_all_committed_stacks_some_are_chosen_and_of_a_few_none_is_left_out(root: Path) -> None:
    every = stack_names()

    assert chosen([(name,) for name in every], every[:2], lambda case: case) == [(name,) for name in every[:2]]
    assert chosen([("text", folder_of(name) / f"Pulumi.{name}.yaml") for name in every], [], lambda case: case) == []
    assert chosen(every[:5], [], lambda name: [name]) == every[:5]
    assert chosen([*every, "no stack"], [], lambda name: [name]) == ["no stack"]
