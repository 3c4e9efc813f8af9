"""`make bench`: the budgets, as ratios of two things measured in this one run wherever there is a fair second one.

Absolute times depend on the machine and on what else it does; ratios of alternating runs hardly do.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from gpu_fabric.report.console import plain_console
from tests.bench.budget import Budget
from tests.bench.lint import linting
from tests.bench.planning import planning, planning_as_a_command, rendering_every_stack
from tests.bench.pools import exclusive_pools
from tests.bench.report import reporting
from tests.bench.sandbox import STACK, Bench

ROUNDS = 3
# A preview takes seconds, of which a busy machine adds or takes away a third.
PREVIEW_ROUNDS = 7

_EMPTY_PROGRAM = """import pathlib
import pulumi_kubernetes

pulumi_kubernetes.Provider("cluster", kubeconfig=pathlib.Path({kubeconfig!r}).read_text())
"""


def installing(bench: Bench) -> Budget:
    """`up` on a new cluster against the same charts and objects by hand; one unmeasured round warms the caches."""
    up, hand = [], []
    for round_number in range(ROUNDS + 1):
        bench.new_cluster()
        hand.append(_seconds(bench.by_hand))
        bench.new_cluster()
        bench.make_stack()
        up.append(_seconds(lambda: bench.engine("up", "--yes", "--skip-preview")))
        _say(f"  round {round_number or 'to warm up'}: up {up[-1]:.1f} s, by hand {hand[-1]:.1f} s")
    return Budget("up : helm and kubectl by hand", _median(up[1:]), _median(hand[1:]), "s", 1.2)


def previewing(bench: Bench) -> Budget:
    """A preview of the stack before its first `up`, against one of an empty program with the same provider."""
    stack, nothing = [], []
    with _empty_project(bench) as project:
        for round_number in range(PREVIEW_ROUNDS + 1):
            stack.append(_seconds(lambda: bench.engine("preview")))
            nothing.append(_seconds(lambda: bench.preview_of_nothing(project)))
            _say(f"  round {round_number or 'to warm up'}: stack {stack[-1]:.1f} s, empty {nothing[-1]:.1f} s")
    return Budget("preview : preview of an empty program", _median(stack[1:]), _median(nothing[1:]), "s", 1.5)


@contextmanager
def _empty_project(bench: Bench) -> Iterator[Path]:
    workspace = bench.workspace
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text("name: empty\nruntime: python\n")
        (project / "__main__.py").write_text(_EMPTY_PROGRAM.format(kubeconfig=str(bench.home.kubeconfig)))
        command = [workspace.command, "stack", "init", "empty", "--non-interactive"]
        subprocess.run(command, cwd=project, env=workspace.environment(), check=True, capture_output=True)
        yield project


def _seconds(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure everything, print the table, and give 1 when a budget is broken."""
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-bench-") as folder:
        bench = Bench(Path(folder))
        try:
            _say("starting a sandbox of the bench's own")
            bench.sandbox("up", "-s", STACK)
            bench.make_stack()
            _say("preview, against an empty program")
            budgets = [previewing(bench)]
            _say("up, against the same by hand")
            budgets.insert(0, installing(bench))
            _say("make up, 256 nodes with pools of their own against 32")
            budgets.append(exclusive_pools(bench))
        finally:
            bench.sandbox("down")
        _say("planning, 128 to 2,048 nodes")
        budgets += [*planning(), *planning_as_a_command()]
        _say("plan --out of every committed stack")
        budgets.append(rendering_every_stack())
        _say("linting 1,000 topology files")
        budgets += linting()
        _say("an HTML report of 2,048 nodes")
        budgets += reporting()
    table = Table("measured : reference", "measured", "reference", "ratio", "at most", "", box=None)
    for budget in budgets:
        table.add_row(*budget.row())
    plain_console(width=120).print(table)
    return 0 if all(budget.kept for budget in budgets) else 1


if __name__ == "__main__":
    sys.exit(main())
