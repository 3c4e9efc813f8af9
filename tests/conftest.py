"""What every tier starts from: the repository and its development stack."""

import gc
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer.testing
import yaml
from committed_stacks import chosen
from hypothesis import settings

from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.stack_text import StackDocument
from sandbox.crds import write_definitions

# jsonschema builds 38 grammars for formats of addresses as soon as it is imported, a second in every worker, and no
# schema here has such a format.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# How long a drawn case takes depends on what else the machine does. Runs without a seed draw the same cases.
settings.register_profile("the same cases", deadline=None, derandomize=True)
settings.register_profile("by seed", deadline=None)
settings.load_profile("the same cases")


# Whoever starts the tests in the background of a shell has Ctrl-C ignored, and so would each program that a test starts
# and interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """A command line that a test runs is the one of the test before: making it takes longer than most commands."""
    with patch.object(typer.testing, "_get_command", cache(typer.main.get_command)):
        yield


@pytest.fixture(scope="session")
def dev_document(root: Path) -> StackDocument:
    """The development stack as written, before validation."""
    return read_document("dev", root)


TESTS = Path(__file__).parent
WHEN: dict[str, Any] = yaml.safe_load((TESTS / "when.yaml").read_text(encoding="utf-8"))
# How `make test-fast` and `make test` name what they run; `make test-all` names nothing.
FAST, TEST = "not slow and not night", "not night"
# Of a property, hypothesis draws so many cases for `make test-fast`; for `make test` half of what it draws at night.
CASES = 4
# Folders whose tests wait for others' processes: begun first, they leave a processor free for the rest, and a long file
# of theirs does not come last, when only one worker has something left to do.
WAITING = ("sandbox", "engine", "cni", "browser")


def pytest_sessionstart(session: pytest.Session) -> None:
    """The stand-in charts are whole before a test is collected."""
    write_definitions()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", default="1/1", help="K/N: the K-th of N parts of the test files, dealt out in turn")


def pytest_configure(config: pytest.Config) -> None:
    """Draw by the seed where one is given."""
    if config.getoption("--hypothesis-seed") is not None:
        settings.load_profile("by seed")


@cache
def part_of(files: int) -> dict[Path, int]:
    """To which of so many parts each test file belongs: the files of each kind go to the parts in turn."""
    found = sorted(TESTS.rglob("test_*.py"), key=lambda file: (file.parent.name not in WAITING, file))
    return {file: place % files + 1 for place, file in enumerate(found)}


@cache
def files_of_product(folder: str) -> set[Path]:
    """Test files that a change of a product alone can break: those of its folder that import nothing of the core."""
    files = (TESTS / folder).rglob("test_*.py")
    return {file for file in files if not re.search(r"^ *(from|import) gpu_fabric", file.read_text("utf-8"), re.M)}


@cache
def changed_since(root: Path, *paths: str) -> tuple[str, list[str]] | None:
    """The commit at which a checkout's branch left main, and which of the paths' files differ from it; else None."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main")
    if base is None or base == git("rev-parse", "HEAD"):
        return None
    commands = (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"])
    found = [git(*command, "--", *paths) for command in commands]
    return None if None in found else (base, [name for names in found for name in (names or "").splitlines()])


def unchanged_since(root: Path, paths: tuple[str, ...]) -> str | None:
    """The commit at which a checkout's branch left main, where none of the paths differs from it now; else None."""
    base, changed = changed_since(root, *paths) or (None, [])
    return None if changed else base


@cache
def stacks_of_branch(root: Path) -> frozenset[str]:
    """The committed stacks that a branch adds or changes."""
    _, changed = changed_since(root, "Pulumi.*.yaml", "examples", "tests/stacks") or ("", [])
    files = (name for name in changed if re.search(r"Pulumi\..+\.yaml$", name))
    return frozenset(name.split("Pulumi.")[1].split(".")[0] for name in files)


def unchanged_products(expression: str) -> dict[str, str]:
    """The folders of the products' tests that do not run, as `tests/when.yaml` has it, each with the commit."""
    folders = WHEN["products"].items() if expression == TEST else ()
    bases = {folder: unchanged_since(TESTS.parent, tuple(paths)) for folder, paths in folders}
    return {folder: base for folder, base in bases.items() if base is not None}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out because nothing that it tests has changed."""
    for folder, base in unchanged_products(config.option.markexpr).items():
        terminalreporter.write_line(
            f"NOT RUN: {len(files_of_product(folder))} files of tests/{folder}, which test one product alone: nothing "
            f"of it differs from {base}, where this branch left main; `make test-all` runs them"
        )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of other parts, and what `make test-all` alone runs."""
    part, _, parts = config.getoption("--part").partition("/")
    if part_of(int(parts)).get(collection_path, int(part)) != int(part):
        return True
    if any(collection_path in files_of_product(folder) for folder in unchanged_products(config.option.markexpr)):
        return True
    left_out = {FAST: (*WHEN["night"], *WHEN["slow"]), TEST: WHEN["night"]}.get(config.option.markexpr, ())
    if str(collection_path.relative_to(TESTS)) in left_out:
        return True
    return None


def together(test: Callable[..., None]) -> Iterator[list[tuple[str, object]]]:
    """The cases that a test runs itself (`each_case`)."""
    while (cases := getattr(test, "cases", None)) is not None:
        yield cases
        test = test.__wrapped__  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Where not all is asked for, take the committed stacks that differ, and a few of what hypothesis draws."""
    yield
    expression = metafunc.config.option.markexpr
    if expression in (FAST, TEST) and metafunc.function.__name__ not in WHEN["every_stack"]:
        folder = metafunc.definition.path.parent.name
        stacks = {*WHEN["stacks"].get(folder, WHEN["stacks"]["others"])}
        if expression == TEST and folder not in WAITING:
            stacks |= stacks_of_branch(TESTS.parent)
        metafunc._calls = chosen(metafunc._calls, stacks, lambda call: call.params.values())
        for cases in together(metafunc.function):
            cases[:] = chosen(cases, stacks, lambda case: case[1] if isinstance(case[1], tuple) else [case[1]])
    if expression == FAST and (drawn := getattr(metafunc.function, "_hypothesis_internal_use_settings", None)):
        fewer = settings(drawn, max_examples=min(CASES, drawn.max_examples))
        metafunc.function._hypothesis_internal_use_settings = fewer


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their tier and their time, and order the files so that workers share them well."""
    # Files that say so themselves have few tests, each of which takes long.
    long = {item.path for item in items if item.get_closest_marker("slow") is not None}
    for item in items:
        file, name = str(item.path.relative_to(TESTS)), getattr(item, "originalname", item.name)
        if (tier := file.partition("/")[0]) != "unit":
            item.add_marker(tier)
        if not {file, name}.isdisjoint(WHEN["slow"]):
            item.add_marker(pytest.mark.slow)
        case = item.name.removeprefix(name)
        if not WHEN["night"].keys().isdisjoint({file, f"{file}{case}", f"{file}::{name}", f"{file}::{item.name}"}):
            item.add_marker(pytest.mark.night)
    if hasattr(config, "workerinput"):
        files = Counter(item.path for item in items)
        items.sort(
            key=lambda item: (
                item.path.parent.name not in WAITING,
                item.path not in long,
                -files[item.path],
            )
        )


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays to the end: all the tests, and every module."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
