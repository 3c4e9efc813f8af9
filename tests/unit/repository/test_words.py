"""Messages, pages and comments use the field's own words: the left column of the project's glossary does not occur."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from tokenize import COMMENT
from typing import Any

import pytest
import yaml
from each_case import each

ROOT = Path(__file__).parents[3]
# What is not written, and what is written in its place.
WORDS = {
    r"anew\b": "is replaced, is re-created, again",
    r"(?:whoever|nobody|somebody|everybody|anybody)\b": "the component, operator or user by name",
    r"(?:his|him)\b": "the user's, or no pronoun",
    r"(?:lies|lie (?:in|on|outside|inside))\b": "is in, runs on, is stored in",
    r"(?:is|are|be|was|were) told\b": "is reported, is configured",
    r"brings (?:it|a|an|the|its|no)\b": "installs, contains",
    r"there already\b": "exists",
    r"(?<!here )is no (?!longer|more|such|less|other|loss)": "is not a valid",
    r"rolled\b": "restarted (rolling)",
    r"kinds of nodes\b": "node groups",
    r"goes (?:with|on)\b": "is deleted with, continues",
    r"held against\b": "compared with, checked against",
}
FORBIDDEN = re.compile("|".join(rf"\b(?:{words})" for words in WORDS), re.IGNORECASE)
PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
PROGRAMS = ("gpu_fabric", "components", "stacks", "policy", "sandbox")
# Files that users read as they are.
OTHERS = (
    "Makefile",
    "Pulumi.*.yaml",
    "examples/*.yaml",
    "tests/stacks/*.yaml",
    ".github/**/*.yaml",
    "gpu_fabric/**/*.j2",
    "sandbox/charts/**/values.yaml",
)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a Python file: what it can print, docstrings and comments."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    with path.open("rb") as file:
        tokens = tokenize.tokenize(file.readline)
        yield from ((token.start[0], token.string) for token in tokens if token.type == COMMENT)


def texts(found: Any) -> Iterator[str]:
    """Every text of a data file; comments are not among them."""
    if isinstance(found, dict):
        for value in found.values():
            yield from texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)
    elif isinstance(found, str):
        yield found


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_line_of_the_program_has_a_word_that_only_this_project_uses_so(program: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word[0]!r} in {text!r}"
        for path in sorted((ROOT / program).rglob("*.py"))
        for line, text in strings(path)
        if (word := FORBIDDEN.search(text))
    ]
    assert found == []


def test_no_data_file_has_such_a_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word[0]!r} in {text!r}"
        for path in sorted((ROOT / "gpu_fabric").rglob("*.yaml"))
        for text in texts(yaml.safe_load(path.read_text(encoding="utf-8")))
        if (word := FORBIDDEN.search(text))
    ]
    assert found == []


@each("page", PAGES)
def test_no_page_has_such_a_word(page: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, 1) if FORBIDDEN.search(line)] == []


@pytest.mark.parametrize("files", OTHERS)
def test_no_other_file_for_users_has_such_a_word(files: str) -> None:
    paths = sorted(ROOT.glob(files))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert paths
    assert found == []
