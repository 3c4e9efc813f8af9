"""The page on problems that cost teams days: each answer is there as it is claimed, and a test holds it."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from each_case import each
from pydantic.alias_generators import to_snake
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import Severity, rules
from gpu_fabric.spec.load import read_file, validated
from gpu_fabric.spec.stack import StackSpec
from sandbox.home import project_root

ROOT = project_root()
PAGE = ROOT / "docs" / "problems.md"
RULE = re.compile(r"\b[A-Z]{3}\d{3}\b")
TEST = re.compile(r"`(tests/[^`:]+\.py)(?:::(test_\w+))?`")
# `plan` refuses: OWN001, OWN002
CLAIM = re.compile(
    r"`([a-z-]+(?: --account)?)`(?:\]\([^)]*\))? (refuses|warns|notes|finds): ([A-Z]{3}\d{3}(?:, [A-Z]{3}\d{3})*)"
)
KEY = re.compile(r"`((?:cluster|fabric|software|verification|monitoring|upgrade)(?:\.[a-zA-Z]+)*)`")
# The commands that say what a rule found; those of the plan say all others.
COMMANDS = {name: name for name in ("preflight", "attach", "drift", "doctor", "verdict", "image_check")}
VERBS = {Severity.ERROR: "refuses", Severity.WARNING: "warns", Severity.NOTE: "notes"}
LATER = ("drift", "doctor", "verdict")
ANSWERS = ("refused", "warned", "asked", "handled", "opt-in", "seen", "documented", "open")
BEFORE = frozenset(ANSWERS[:5])


class Row(NamedTuple):
    number: int
    problem: str
    answers: tuple[str, ...]
    how: str
    held_by: str


def rows() -> list[Row]:
    found = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.M)
    return [Row(int(number), problem, tuple(text.split(", ")), *rest) for number, problem, text, *rest in found]


@cache
def planted() -> set[str]:
    """The rules that tests plant or expect: ids in Python, and those that have rows."""
    texts = [path.read_text(encoding="utf-8") for end in ("py", "yaml") for path in (ROOT / "tests").rglob(f"*.{end}")]
    return {
        name
        for text in texts
        for names in re.findall(r'"([A-Z]{3}\d{3})"|^([A-Z]{3}\d{3}):', text, re.M)
        for name in names
    }


def claims_of(name: str) -> set[tuple[str, str]]:
    """Which commands say what a rule finds, and whether that stops them: by the book alone."""
    rule = rules()[name]
    commands = {command.removeprefix("gpu-fabric ") for command in rule.commands}
    if rule.group not in COMMANDS:
        commands = {"plan"}
    if name.startswith(("PRE12", "PRE13")):
        commands = {"preflight --account"}
    return {(command, "finds" if command in LATER else VERBS[rule.severity]) for command in commands}


def claims(row: Row) -> dict[str, tuple[str, str]]:
    """What a row says of each of its rules."""
    return {name: (command, verb) for command, verb, names in CLAIM.findall(row.how) for name in RULE.findall(names)}


def answer(command: str, verb: str) -> str:
    """The page's word for what a command says."""
    if command in ("preflight --account", "image-check"):
        return "asked"
    return {"refuses": "refused", "finds": "seen"}.get(verb, "warned")


@pytest.fixture(scope="module")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stack file that `gpu-fabric init` writes, with about ten lines of keys."""
    folder: Path = tmp_path_factory.mktemp("new")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ("--provider", "existing", "--shape", "server.dgx-h100.8", "--nodes", "4")
        CliRunner().invoke(app, ["init", "new", "-y", *options], catch_exceptions=False)
    return folder / "Pulumi.new.yaml"


@pytest.fixture(scope="module")
def new_stack(new_file: Path) -> StackSpec:
    return validated(read_file(new_file))


def is_off(spec: StackSpec, key: str) -> bool:
    """Whether a key of the stack file is off in a stack."""
    value: Any = spec
    for part in key.split("."):
        if value is None:
            return True
        value = getattr(value, to_snake(part))
    return value in (None, False, "default")


@each("row", rows())
def test_a_row_says_of_each_rule_what_the_book_says(row: Row) -> None:
    named = RULE.findall(row.how)
    said = claims(row)

    assert set(named) <= rules().keys() & planted()
    # A fact of a cluster that several commands find can be said of each of them.
    assert said.keys() == set(named)
    assert {name: one for name, one in said.items() if one not in claims_of(name)} == {}


@each("row", rows())
def test_the_answer_of_a_row_is_what_its_rules_and_its_test_show(row: Row, new_stack: StackSpec) -> None:
    by_rules = {answer(*what) for what in claims(row).values()}
    switched = KEY.findall(row.how)

    assert set(row.answers) <= set(ANSWERS)
    assert list(row.answers) == sorted(row.answers, key=ANSWERS.index)
    assert ("opt-in" in row.answers) == bool(switched)
    assert all(is_off(new_stack, key) for key in switched)
    match row.held_by:
        case "rule":
            assert set(row.answers) == by_rules
        case "page":
            assert row.answers == ("documented",)
        case "":
            assert row.answers == ("open",)
        case text:
            found = TEST.fullmatch(text)
            assert found is not None, text
            content = (ROOT / found[1]).read_text(encoding="utf-8")
            assert found[2] is None or f"def {found[2]}(" in content
            # What no rule shows the test does.
            assert by_rules <= set(row.answers)
            assert set(row.answers) - by_rules <= {"refused", "handled", "opt-in"}


def test_a_new_stack_and_the_page_name_what_is_off_there(new_file: Path, new_stack: StackSpec) -> None:
    (paragraph,) = re.findall(r"^\*\*What a new.*?\n\n", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (said,) = re.findall(r"^# Off until you write them: (.*)\.$", new_file.read_text(encoding="utf-8"), re.M)

    assert said.split(", ") == KEY.findall(paragraph)
    assert all(is_off(new_stack, key) for key in said.split(", "))


def test_the_page_counts_what_is_answered_before_jobs_are_affected() -> None:
    answered = [row for row in rows() if BEFORE.intersection(row.answers)]
    alone = Counter(frozenset(row.answers) & BEFORE == {"opt-in"} for row in answered)[True]

    assert [row.number for row in rows()] == list(range(1, 67))
    assert len(answered) >= 57
    said = f"{len(answered)} of the 66 are answered before jobs are affected, {alone} of these only by a section that"
    assert said in PAGE.read_text(encoding="utf-8").replace("\n", " ")
