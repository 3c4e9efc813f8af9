"""Every command that a page for people shows is run by a test, or the page says what it needs beyond this repository.

This program's own commands run here, in this process and a folder of their own (`make` and the shell beside them);
what takes the engine or the sandbox is named in `documented_commands.yaml` with the test that runs it.
"""

import ast
import difflib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum
from functools import cache
from itertools import groupby
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any
from unittest import mock

import pytest
import yaml
from documented_commands import Command, commands, pages, stack_files
from documented_runs import FABRIC, ROOT, SHELL, STAND_INS, fits, made, prepare, run, stages
from documented_summaries import command_names, is_summary, options_of, untrue
from each_case import each
from rich.cells import cell_len
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan
from nccl_topology.cli import main as linter
from sandbox.cli import app as sandbox_app

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("documented_commands.yaml").read_text("utf-8"))
APPS = {"gpu-fabric": app, "sandbox": sandbox_app}
# A command in a sentence may be the name of one, without what it wants.
NAMED_ONLY = re.compile(r"Missing (argument|option|command)|requires an argument|Usage: ")


@cache
def page_text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


# What `--help` shows is held like what pages show.
HELP = {"gpu-fabric": "gpu_fabric/cli/examples.yaml", "sandbox": "sandbox/examples.yaml"}
EXAMPLES: dict[str, dict[str, dict[str, str]]] = {
    program: yaml.safe_load(page_text(page)) for program, page in HELP.items()
}
COMMANDS = [command for page in pages(ROOT) for command in commands(page, page_text(page))] + [
    Command(HELP[program], number, text, purpose, block=number)
    for program, table in EXAMPLES.items()
    for number, (text, purpose) in enumerate((row for rows in table.values() for row in rows.items()), 1)
]


def rows(part: str, text: str) -> list[dict[str, Any]]:
    """The rows of a part of the table that are about a command."""
    return [row for row in TABLE[part] if re.fullmatch(row["command"], text)]


class Way(Enum):
    """How it is known that a command of a page is good."""

    HERE = "it runs in this module"
    ELSEWHERE = "another test runs it"
    SUMMARY = "it stands for many, and its words are held against the program's"
    NEEDS = "the page says what it needs"
    NONE = "nothing holds it"


def way(command: Command) -> Way:
    """How a command is held. What can run here is not to be marked as needing something."""
    ours = command.text.startswith(("gpu-fabric", "python -m sandbox"))
    if rows("run_by", command.text):
        return Way.NONE if command.needs else Way.ELSEWHERE
    if ours and is_summary(command.text):
        return Way.SUMMARY
    if command.text == "make" or command.text.startswith("make "):
        here = all(line.startswith((FABRIC, "awk ")) for line in expanded(command.text))
    else:
        here = all(map(runs_here, stages(command.text)))
    if here:
        return Way.NONE if command.needs else Way.HERE
    if not command.needs:
        return Way.NONE
    return Way.HERE if runs_here(stages(command.text)[0]) else Way.NEEDS


def runs_here(stage: str) -> bool:
    """Whether a stage of a pipeline needs no more than this process and a shell."""
    return stage.startswith(FABRIC) or stage.split(" ")[0] in (*SHELL, *STAND_INS)


@cache
def expanded(command: str) -> tuple[str, ...]:
    """What `make` runs for a target; one line that nothing can run where it has none of that name."""
    try:
        return tuple(made(command.removeprefix("make"), ROOT))
    except CalledProcessError:
        return ("no such target",)


def every(wanted: Way, *, inline: bool) -> list[Command]:
    """The commands that are held in a way, those in sentences once each."""
    found = [command for command in COMMANDS if command.inline is inline and way(command) is wanted]
    return list({command.text: command for command in found}.values()) if inline else found


def filled(text: str) -> str:
    """A command with something in the place of each word that stands for something."""
    for words, value in TABLE["placeholders"].items():
        before, _, word = words.rpartition(" ")
        text = re.sub(rf"(?<={re.escape(before) if before else ''}[ =]){re.escape(word)}(?=$|\s)", value, text)
    return text


@each("page", [*pages(ROOT), *HELP.values()])
def test_every_command_of_a_page_is_run_by_a_test_or_says_what_it_needs(page: str) -> None:
    loose = [command for command in COMMANDS if command.page == page and way(command) is Way.NONE]

    assert [f"{command.place}: {command.text}" for command in loose] == []


@each("command", [c for inline in (True, False) for c in every(Way.SUMMARY, inline=inline)], ids=str)
def test_a_summary_of_a_commands_arguments_names_what_the_program_knows(command: Command) -> None:
    assert untrue(command.text) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dev_plan: Plan) -> Path:
    """A folder with what commands on pages read, as the current one."""
    prepare(tmp_path, dev_plan)
    for name, text in shown_stacks().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def shown_stacks() -> dict[str, str]:
    """The stack files that a page shows whole, by name."""
    return {name: text for page in pages(ROOT) for name, text in stack_files(page_text(page)).items()}


def expected_status(command: Command) -> int:
    for row in TABLE["statuses"]:
        if any(re.fullmatch(row["shown"], line) for line in command.shown or ()):
            return int(row["status"])
    return 0


@contextmanager
def screen(width: int) -> Iterator[None]:
    """Have commands print as on a screen, though tests read it."""
    environment = {"COLUMNS": str(width), "TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "0", "NO_COLOR": "1"}
    with (
        mock.patch("gpu_fabric.cli.conversation.is_screen", return_value=True),
        mock.patch.dict(os.environ, environment),
    ):
        yield


def wider(printed: str, width: int) -> list[str]:
    """The lines that do not fit a screen."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed)
    return [line for line in plain.splitlines() if cell_len(line) > width]


def do(command: Command, folder: Path) -> None:
    """Run a command as the page has it, and hold what it prints against what the page shows."""
    for row in rows("before", command.text):
        for text in row["run"] if row.get("page", command.page) == command.page else ():
            assert run(text, folder).status == 0, text
    text = filled(command.text)
    texts = expanded(text) if text.startswith("make") else (text,)
    with screen(80) if command.page in HELP.values() else nullcontext():
        results = [run(text, folder) for text in texts if not text.startswith("awk ")]
    printed = "".join(result.everything for result in results)
    if command.page in HELP.values() and not re.search("json|krm", text):
        assert wider(printed, 80) == [], command.text
    status = max((result.status for result in results), default=0)
    assert status == expected_status(command), f"{command.place}: {command.text} ended with {status}\n{printed}"
    if command.shown:
        differs = "\n".join(
            difflib.unified_diff(command.shown, printed.splitlines(), "page", "printed", n=0, lineterm="")
        )
        assert fits(command.shown, printed), f"{command.place}: {command.text}\n{differs}"
    elif command.shown is not None:
        assert "".join(result.errors for result in results) == "", f"{command.place}: the page does not show this"


# A reader follows the first page from its top to its end, and looks single things up on others.
README = "README.md"
BLOCKS = [
    list(block)
    for _, block in groupby(
        every(Way.HERE, inline=False),
        key=lambda command: (command.page, 0 if command.page == README else command.block),
    )
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block[0]))
def test_the_commands_of_a_block_do_what_the_page_shows(block: list[Command], folder: Path) -> None:
    for command in block:
        do(command, folder)
    if block[0].page == README:
        # What is brought up is what the page began with.
        for name, text in stack_files(page_text(README)).items():
            assert (folder / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("command", every(Way.HERE, inline=True), ids=str)
def test_a_command_in_a_sentence_runs_or_is_the_name_of_one(command: Command, folder: Path) -> None:
    text = filled(command.text)
    if text.startswith(FABRIC) and NAMED_ONLY.search(run(text, folder).errors):
        assert untrue(text) == []
    else:
        do(command, folder)


@each("name", command_names())
def test_the_help_of_every_command_fits_a_screen_and_ends_with_its_examples(name: str) -> None:
    program, *words = name.split()
    examples = EXAMPLES[program][words[0]]
    printed = CliRunner(env={"COLUMNS": "80"}).invoke(APPS[program], [*words, "--help"]).stdout
    shown = " ".join(printed.split())

    assert [line for line in printed.splitlines() if cell_len(line) > 80] == []
    assert examples
    assert [text for text in examples if f"{program} {words[0]}" not in text] == []
    for text, purpose in examples.items():
        assert shown.partition(" Examples: ")[2].count(f"# {purpose} {text}") == 1


def test_the_linters_own_command_has_an_example_in_each_help_that_a_page_has_as_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("lint", "explain"):
        with pytest.raises(SystemExit):
            linter([name, "--help"])
        (example,) = re.findall(r"^example: (.*)$", capsys.readouterr().out, re.MULTILINE)
        assert rows("run_by", example)


@each("name", command_names())
def test_the_page_of_commands_has_each_with_all_its_options(name: str) -> None:
    lines = [command.text for command in COMMANDS if command.page == "docs/command-line.md" and not command.inline]
    (line,) = (line for line in lines if re.match(rf"(?:python -m )?{name}(?= |$)", line))

    assert [option for option in options_of(name) if not re.search(rf"(?<=[\[ ]){option}(?=[\] ]|$)", line)] == []


@cache
def words_of(file: Path) -> frozenset[str]:
    """What a file names: of a test and the modules of tests that it imports, variables, attributes and strings."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        return frozenset(text.split())
    found = set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value, *node.value.split()}
        elif isinstance(node, ast.ImportFrom):
            modules = (folder / f"{node.module}.py" for folder in (file.parent, ROOT / "tests/support"))
            found = found.union(*(words_of(module) for module in modules if module.exists()))
        found |= {str(getattr(node, field)) for field in ("id", "attr", "name", "arg") if getattr(node, field, None)}
    return frozenset(found)


@each("row", TABLE["run_by"], ids=lambda row: row["command"])
def test_a_command_of_the_table_is_on_a_page_and_run_by_the_test_that_is_named(row: dict[str, Any]) -> None:
    file, _, test = row["test"].partition("::")

    assert any(re.fullmatch(row["command"], command.text) for command in COMMANDS), "no page has it"
    assert not test or re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(row["words"]) - words_of(ROOT / file) == set()


@pytest.mark.parametrize("row", [row for row in TABLE["run_by"] if "ends_like" in row], ids=lambda row: row["command"])
def test_a_command_that_another_test_runs_ends_as_a_page_shows(row: dict[str, Any], folder: Path) -> None:
    printed = run(row["ends_like"], folder).everything.strip()
    first = printed.splitlines()[0].rstrip()
    shown = [command.shown for command in COMMANDS if re.fullmatch(row["command"], command.text) and command.shown]

    assert shown
    for lines in shown:
        assert fits(lines[lines.index(first) :], printed), printed
