"""`make bench`: the budgets, as ratios of two things measured in this one run wherever there is a fair second one.

Absolute times depend on the machine and on what else it does; ratios of alternating runs hardly do. A broken budget is
named, and does not end the command with another status than 0.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from gpu_fabric.report.console import plain_console
from tests.bench.budget import Budget
from tests.bench.commands import starting
from tests.bench.hand_written import side_by_side
from tests.bench.lint import linting
from tests.bench.planning import planning, planning_as_a_command, rendering_every_stack
from tests.bench.pools import exclusive_pools
from tests.bench.report import reporting
from tests.bench.sandbox import STACK, Bench

# Measured rounds of the short form and of the long one; one more comes before them, to warm the caches.
UP_ROUNDS = (1, 3)
# A preview takes seconds, of which a busy machine adds or takes away a third.
PREVIEW_ROUNDS = (3, 7)
# Each of dev's 16 rails is a network in each of them.
_NAMESPACES = [{"name": "default"}, *({"name": f"team-{number}", "create": True} for number in range(1, 4))]

_EMPTY_PROGRAM = """import pathlib
import pulumi_kubernetes

pulumi_kubernetes.Provider("cluster", kubeconfig=pathlib.Path({kubeconfig!r}).read_text())
"""


def installing(bench: Bench, rounds: int) -> tuple[Budget, Budget]:
    """`up` on a new cluster against the same charts and objects by hand, and a second `up` against a preview.

    Leaves the stack up.
    """
    up, hand, again, preview = [], [], [], []
    for round_number in range(rounds + 1):
        bench.new_cluster()
        hand.append(_seconds(bench.by_hand))
        bench.new_cluster()
        bench.make_stack()
        up.append(_seconds(lambda: bench.engine("up", "--yes", "--skip-preview")))
        preview.append(_seconds(lambda: bench.engine("preview")))
        again.append(_seconds(lambda: bench.engine("up", "--yes", "--skip-preview")))
        _say(f"  round {round_number or 'to warm up'}: up {up[-1]:.1f} s, by hand {hand[-1]:.1f} s")
        _say(f"    then a preview {preview[-1]:.1f} s, a second up {again[-1]:.1f} s")
    return (
        Budget("up : helm and kubectl by hand", _median(up[1:]), _median(hand[1:]), "s", 0.9),
        Budget("second up without changes : preview", _median(again[1:]), _median(preview[1:]), "s", 1.2),
    )


def previewing(bench: Bench, rounds: int) -> tuple[Budget, ...]:
    """A preview of the stack before its first `up`, against one of an empty program with the same provider.

    Beside the engine's own command: what `make preview` adds, and the same stack with four times its networks.
    """
    stack, more, made, nothing = [], [], [], []
    networks = {"fabric": {"namespaces": _NAMESPACES}}
    with _empty_project(bench) as project:
        for round_number in range(rounds + 1):
            stack.append(_seconds(lambda: bench.engine("preview")))
            more.append(_seconds(lambda: bench.engine("preview", sections=bench.with_sections(networks))))
            made.append(_seconds(bench.make_preview))
            nothing.append(_seconds(lambda: bench.pulumi("preview", "--stack", "empty", project=project)))
            taken = f"stack {stack[-1]:.1f} s, 64 networks {more[-1]:.1f} s, make {made[-1]:.1f} s"
            _say(f"  round {round_number or 'to warm up'}: {taken}, empty {nothing[-1]:.1f} s")
    reference = _median(nothing[1:])
    return (
        Budget("preview : preview of an empty program", _median(stack[1:]), reference, "s", 1.4),
        Budget("preview with 64 networks : of an empty program", _median(more[1:]), reference, "s", 1.7),
        Budget("what make preview adds", _median(made[1:]) - _median(stack[1:]), None, "s", 0.5),
    )


@contextmanager
def _empty_project(bench: Bench) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text("name: empty\nruntime: python\n")
        (project / "__main__.py").write_text(_EMPTY_PROGRAM.format(kubeconfig=str(bench.home.kubeconfig)))
        bench.pulumi("stack", "init", "empty", project=project)
        yield project


def _seconds(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Measure everything, and print the table and, if asked for, JSON."""
    arguments = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    arguments.add_argument("--long", action="store_true", help="more rounds, and `plan --out` of every committed stack")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    chosen = arguments.parse_args()
    began = time.monotonic()
    budgets: list[Budget] = []
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-bench-") as folder:
        bench = Bench(Path(folder))
        try:
            _say("starting a sandbox of the bench's own")
            bench.sandbox("up", "-s", STACK)
            bench.make_stack()
            _say("preview, against an empty program")
            budgets += previewing(bench, PREVIEW_ROUNDS[chosen.long])
            _say("preview, against a hand-written program with the same resources")
            budgets += side_by_side(bench, PREVIEW_ROUNDS[chosen.long])
            _say("up, against the same by hand")
            budgets += installing(bench, UP_ROUNDS[chosen.long])
            _say("make up, 256 nodes with pools of their own against 32")
            budgets.append(exclusive_pools(bench))
        finally:
            bench.sandbox("down")
    _say("the start of commands")
    budgets += starting()
    _say("planning, 16 to 8,192 nodes")
    budgets += [*planning(), *planning_as_a_command()]
    if chosen.long:
        _say("plan --out of every committed stack")
        budgets.append(rendering_every_stack())
    _say("linting 1,000 topology files")
    budgets += linting()
    _say("an HTML report of 2,048 nodes")
    budgets += reporting()
    table = Table("measured : reference", "measured", "reference", "ratio", "floor", "at most", "", box=None)
    for budget in budgets:
        table.add_row(*budget.row())
    plain_console(width=120).print(table)
    broken = [budget.name for budget in budgets if not budget.kept]
    print(f"{len(budgets)} budgets in {(time.monotonic() - began) / 60:.1f} min, {len(broken)} broken")
    if chosen.json:
        chosen.json.write_text(json.dumps([budget.document() for budget in budgets], indent=2) + "\n")


if __name__ == "__main__":
    main()
