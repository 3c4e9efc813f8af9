"""Long work says on a terminal what it is at; results, pipes, logs and statuses are as if it said nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stack_plans import stack_plan
from terminal_screen import Ended, at_terminal

from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.progress import Progress
from gpu_fabric.render.folder import read_rendered, write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.rendering import rendered

STACK, LARGE = "dev", "large-per-node"
# Shows steps at once, and goes on from each that counts nothing when it is on the screen, whatever the machine's speed.
AT_ONCE = """
from re import search
from threading import Event
from gpu_fabric.report import terminal_progress as shown
shown.PATIENCE_S, shown.INTERVAL_S = 0, 0.01
current, made, stored = {}, shown.live_line, shown._Latest.step
def live_line(console, **options):
    line = made(console, **options)
    def update(task, show=line.update, **changes):
        show(task, **changes)
        if changes.get("refresh") and changes["description"] in current:
            current[changes["description"]].set()
    line.update = update
    return line
def step(latest, doing):
    if not search("[0-9] of ", doing):
        current[doing] = Event()
    stored(latest, doing)
    assert doing not in current or current[doing].wait(60)
shown.live_line, shown._Latest.step = live_line, step
"""
COMMAND = f"{AT_ONCE}from gpu_fabric.cli.app import app; app()"
WAITING = """
with shown.show_progress() as progress:
    progress.step("waiting for the test")
"""


class Heard(Progress):
    """Keeps every step."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, doing: str) -> None:
        self.steps.append(doing)


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A folder with a stack, and one of 2,048 nodes."""
    shutil.copy(root / f"Pulumi.{STACK}.yaml", tmp_path)
    shutil.copy(root / "tests" / "stacks" / f"Pulumi.{LARGE}.yaml", tmp_path)
    return tmp_path


def settings(root: Path, **more: str) -> dict[str, str]:
    """An environment as at a person's terminal."""
    kept = {name: text for name, text in os.environ.items() if name not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(root), "TERM": "xterm-256color", "COLUMNS": "160", **more}


def at_pipe(folder: Path, *arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )


def script(root: Path, folder: Path, body: str, **more: str) -> Ended:
    return at_terminal(folder, "-c", AT_ONCE + WAITING + body, environment=settings(root, **more))


def test_a_large_plan_says_its_steps_and_leaves_one_line_about_its_files(root: Path, project: Path) -> None:
    ended = at_terminal(project, "-c", COMMAND, "plan", "-s", LARGE, "--out", "new", environment=settings(root))

    assert "planning stack large-per-node, 2,048 nodes" in ended.sent
    assert re.search(r"listing the addresses of \d+ of 16 rails", ended.sent)
    assert (ended.status, len(ended.screen)) == (0, 1)
    assert ended.screen[0].startswith("new: plan of stack large-per-node, ")


@pytest.mark.parametrize(("form", "stack"), [("html", STACK), pytest.param("json", LARGE, marks=pytest.mark.slow)])
def test_a_report_has_the_same_bytes_and_stands_alone_whoever_watches(
    root: Path, project: Path, form: str, stack: str
) -> None:
    arguments = ("plan", "-s", stack, "--format", form)
    # A pipe stays one where colours are forced.
    piped = at_pipe(project, *arguments, environment=settings(root, FORCE_COLOR="1"))
    watched = at_terminal(project, "-c", COMMAND, *arguments, environment=settings(root), redirected=True)

    assert (piped.returncode, piped.stderr) == (0, b"")
    assert f"planning stack {stack}" in watched.sent
    assert (watched.status, watched.stdout, watched.screen) == (0, piped.stdout, [])


@pytest.mark.parametrize("more", [{"CI": "true"}, pytest.param({"TERM": "dumb"}, marks=pytest.mark.slow)], ids=str)
def test_nothing_is_shown_in_ci_or_where_the_cursor_cannot_move(
    root: Path, project: Path, more: dict[str, str]
) -> None:
    arguments = ("-c", COMMAND, "images", "-s", STACK)
    ended = at_terminal(project, *arguments, environment=settings(root, **more), redirected=True)

    assert (ended.status, ended.sent) == (0, "")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("    raise LookupError('of the work')", 1, "LookupError: of the work"),
        ("    raise SystemExit(3)", 3, None),
        (
            # Whoever starts the tests in the background has them ignore interrupts.
            "    from signal import *; signal(SIGINT, default_int_handler); raise_signal(SIGINT)",
            -2,
            "KeyboardInterrupt",
        ),
    ],
    ids=["error", "exit", "interrupt"],
)
def test_work_that_fails_has_its_own_end_on_a_clean_screen(
    root: Path, tmp_path: Path, body: str, status: int, said: str | None
) -> None:
    ended = script(root, tmp_path, body)

    assert ended.status == status
    assert (ended.screen[-1] if ended.screen else None) == said
    assert not any("waiting for the test" in line for line in ended.screen)


def test_a_refusal_after_long_work_is_all_that_is_left(root: Path, project: Path) -> None:
    (project / "taken").mkdir()
    (project / "taken" / "letter.txt").write_text("mine", encoding="utf-8")
    arguments = ("-c", COMMAND, "plan", "-s", STACK, "--out", "taken")
    ended = at_terminal(project, *arguments, environment=settings(root))

    assert ended.status == 2
    assert len(ended.screen) == 1
    assert ended.screen[0].startswith("taken: holds what no rendered plan has put there: letter.txt")


def test_quick_work_says_nothing(root: Path, tmp_path: Path) -> None:
    shown = "from gpu_fabric.report.terminal_progress import show_progress"
    quick = f"{shown}\nwith show_progress() as progress:\n    progress.step('quick')"
    patient = f"from gpu_fabric.report import terminal_progress as progress; progress.PATIENCE_S = 600\n{quick}"

    assert at_terminal(tmp_path, "-c", patient, environment=settings(root)) == Ended(0, b"", "")


def test_every_step_says_truly_how_far_the_work_is(root: Path, tmp_path: Path) -> None:
    heard = Heard()
    plan = stack_plan("dev", root, progress=heard)
    found = rendered(plan, heard)
    written = files(found, heard)
    write_files(tmp_path / "new", written, heard)
    read = read_rendered(tmp_path / "new", heard)
    plan_diff(read, read, heard)

    assert found == rendered(plan)
    resources = len(found.resources)
    for doing, total, named in (
        ("rendering", resources, "resources"),
        ("listing the addresses of", len(plan.rails), "rails"),
        ("formatting", resources, "resources"),
        ("writing", len(written), "files"),
        (f"reading {tmp_path / 'new'},", len(written), "files"),
        ("comparing", resources, "resources"),
    ):
        counted = [step for step in heard.steps if step.startswith(f"{doing} ") and step.endswith(f" {named}")]
        assert counted == [f"{doing} {number} of {total} {named}" for number in range(1, total + 1)]
