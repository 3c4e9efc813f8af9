"""The part of `make bench` that plans: how time and memory grow with the number of nodes; needs no sandbox."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from sandbox.home import project_root
from tests.bench.budget import Budget

# A stack whose nodes share 16 subnets, and one with a prefix of its own for every node on each of 16 rails; with the
# folders that hold them.
SHARED = ("dev", ".")
PREFIXES = ("large-per-node", "tests/stacks")
SIZES = (128, 512, 2048)
FEW, MANY, MOST = 16, 2048, 8192


def planning() -> tuple[Budget, ...]:
    """Planning as nodes grow, with 16 rails: what a plan costs, what listing every node's shares adds, and memory.

    A plan itself holds nothing per node, so its time hardly depends on their number. The list has an entry for every
    node and rail, so its time is to grow with nodes x rails and no faster: the fixed part is spread over more nodes, so
    the time per node falls; a part that grows with the square of the nodes would raise it.
    """
    (few, many, most), shared_peak = _planned(SHARED, "plain", (FEW, MANY, MOST))
    seconds, peak = _planned(PREFIXES, "listed", SIZES)
    first, *others = (taken / nodes * 1e6 for taken, nodes in zip(seconds, SIZES, strict=True))
    return (
        Budget(f"planning {MANY:,} nodes : {FEW}", many * 1e3, few * 1e3, "ms", 1.3),
        Budget(f"planning {MOST:,} nodes : {FEW}", most * 1e3, few * 1e3, "ms", 1.3),
        Budget("peak memory of that", shared_peak, None, "MiB", 200),
        *(
            Budget(f"a node of {nodes:,} with its prefixes listed : of {SIZES[0]}", each, first, "us", 1.0)
            for nodes, each in zip(SIZES[1:], others, strict=True)
        ),
        Budget("peak memory of that", peak, None, "MiB", 200),
    )


def planning_as_a_command() -> tuple[Budget, ...]:
    """`gpu-fabric plan` of 32,768 prefixes as a person runs it, printed and as files: wall time, peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        printed, printing = _as_a_command(*PREFIXES, "--format", "json")
        written, writing = _as_a_command(*PREFIXES, "--out", f"{folder}/plan")
    return (
        Budget("gpu-fabric plan, 2,048 nodes with prefixes", printed, None, "s", 3.0),
        Budget("peak memory of that command", printing, None, "MiB", 400),
        Budget("gpu-fabric plan --out, the same", written, None, "s", 10.0),
        Budget("peak memory of that command", writing, None, "MiB", 400),
    )


def rendering_every_stack() -> Budget:
    """`gpu-fabric plan --out` of every committed stack file: the wall time of the slowest."""
    seconds = []
    with tempfile.TemporaryDirectory() as made:
        for folder in (".", "examples", "tests/stacks"):
            for file in sorted((project_root() / folder).glob("Pulumi.*.yaml")):
                stack = file.name.split(".")[1]
                seconds.append(_as_a_command(stack, folder, "--out", f"{made}/{folder}/{stack}", runs=1)[0])
    return Budget(f"gpu-fabric plan --out, slowest of {len(seconds)} stacks", max(seconds), None, "s", 10.0)


def _as_a_command(stack: str, folder: str, *arguments: str, runs: int = 3) -> tuple[float, float]:
    """Median seconds that planning a stack takes as a command, and its peak memory in MiB."""
    command = [sys.executable, "-m", "gpu_fabric", "plan", "--stack", stack, *arguments]
    where, seconds, peaks, quiet = project_root() / folder, [], [], subprocess.DEVNULL
    for _ in range(runs):
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=where, env=_with_project(), stdout=quiet, stderr=quiet)
        _, status, usage = os.wait4(process.pid, 0)
        seconds.append(time.monotonic() - began)
        # Never less than this process's own memory, from which the child starts.
        peaks.append(usage.ru_maxrss / 1024)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command[1:])} ended with {process.returncode}")
    return statistics.median(seconds), max(peaks)


def _planned(where: tuple[str, str], listed: str, sizes: tuple[int, ...]) -> tuple[list[float], float]:
    """Median seconds to plan each number of nodes, and the peak memory of all in MiB."""
    stack, folder = where
    command = [sys.executable, "-m", "tests.bench.sizes", stack, listed, *map(str, sizes)]
    root = project_root() / folder
    result = subprocess.run(command, cwd=root, env=_with_project(), capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    figures = json.loads(result.stdout)
    return figures["seconds"], figures["peak_mib"]


def _with_project() -> dict[str, str]:
    """An environment in which a program finds the project from any folder."""
    return {**os.environ, "PYTHONPATH": str(project_root())}
