"""docs/fabrics.md: it says of a stack what the code of a test does with it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fabrics_page import TESTS, fabrics, texts_of
from whole_lives import LIVES, Life

SANDBOX = TESTS / "sandbox"
# What is in the code of a test that shows something, its helpers in other files included.
AGAIN = re.compile(r" unchanged|\.steps == \{\}|assert_it_stays_and_goes\(")
GONE = re.compile(r"[\"']destroy[\"']|\.destroy\(|assert_it_stays_and_goes\(")
JOB = re.compile(r"run_pod\(|assert_a_job_runs\(|assert_it_is_scheduled\(|nccl_test\(|PodScheduled|run_job\(")

CODE = """
from driver import FAR
from lost import GONE
from stands import Thing

NEAR, COUNT = "near", 3
TABLE = {"row": 1}
UNUSED = "unused"
ROWS = rows(__file__, "lives")

def helper():
    return NEAR

@fixture
def place():
    return "of a fixture"

@parametrize("name", TABLE)
def test_one(place, name):
    helper()
    use(FAR)

def test_other():
    use(ROWS, GONE, Thing)
"""


def test_the_texts_of_a_test_are_those_of_its_own_code_helpers_fixtures_constants_and_rows(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(CODE)
    (tmp_path / "driver.py").write_text('FAR = "far"\n')
    (tmp_path / "test_it.yaml").write_text("lives: {of a row: {}}\nothers: {of another table: {}}\n")

    assert texts_of(tmp_path, "test_it.py::test_one") == {"name", "near", "row", "of a fixture", "far"}
    assert texts_of(tmp_path, "test_it.py::test_other") == {"lives", "of a row"}
    assert {"far", "of a row"} <= texts_of(tmp_path, "test_it.py")
    assert texts_of(tmp_path, "test_it.py::test_that_was_renamed") == set()


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.test)
def test_a_life_is_a_test_that_does_what_the_page_says(life: Life) -> None:
    file, _, function = life.test.partition("::")
    code = (SANDBOX / file).read_text(encoding="utf-8")

    assert not function or f"def {function}(" in code
    assert JOB.search(code)
    assert not life.again or AGAIN.search(code)
    assert not life.gone or GONE.search(code)


def test_every_life_is_that_of_a_fabric_and_most_fabrics_have_one() -> None:
    rows = fabrics()

    assert {row.life for row in rows if row.life is not None} == {*LIVES}
    assert sum(row.shown == 3 for row in rows) >= 24
    assert len({row.fabric for row in rows}) == len(rows)
