"""The page on problems that cost teams days: each answer is there, and a test holds it."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from each_case import each

from gpu_fabric.findings import rules
from sandbox.home import project_root

ROOT = project_root()
PAGE = ROOT / "docs" / "problems.md"
ANSWERS = {"refused", "handled", "seen", "documented", "open"}
RULE = re.compile(r"\b[A-Z]{3}\d{3}\b")
TEST = re.compile(r"`(tests/[^`:]+\.py)(?:::(test_\w+))?`")


class Row(NamedTuple):
    number: int
    problem: str
    answer: str
    how: str
    held_by: str


def rows() -> list[Row]:
    found = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.M)
    return [Row(int(number), *rest) for number, *rest in found]


@cache
def planted() -> str:
    """All that tests plant or expect, in which a rule's id must be."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("*.py")))


@each("row", rows())
def test_what_answers_a_problem_is_there_and_held_by_a_test(row: Row) -> None:
    assert row.answer in ANSWERS
    named = RULE.findall(row.how)
    assert all(name in rules() and f'"{name}"' in planted() for name in named)
    match row.held_by:
        case "rule":
            assert named
        case "page":
            assert row.answer == "documented"
        case "":
            assert row.answer == "open"
        case text:
            found = TEST.fullmatch(text)
            assert found is not None, text
            content = (ROOT / found[1]).read_text(encoding="utf-8")
            assert found[2] is None or f"def {found[2]}(" in content
