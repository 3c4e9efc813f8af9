"""The part of `make bench` that starts commands; needs no sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.home import project_root
from tests.bench.budget import Budget

RUNS = 7
# What every command imports before any line of this project.
_FLOOR = "import pydantic, typer, yaml"
_POD = """apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - {name: train, image: train, resources: {limits: {nvidia.com/gpu: 8}}}
"""


def starting() -> tuple[Budget, ...]:
    """Processor seconds of whole commands, start of the interpreter included: the least of several runs."""
    floor = _processor_seconds("-c", _FLOOR)
    with tempfile.TemporaryDirectory() as folder:
        pod, plan, topology = (Path(folder) / name for name in ("pod.yaml", "plan", "topology.xml"))
        pod.write_text(_POD)
        topology.write_text(_printed("topology", "BM.GPU.H100.8"))
        _printed("plan", "-s", "dev", "--out", str(plan))
        commands = {
            "plan -s dev": 0.45,
            "--help": 0.25,
            "explain NCCL_IB_HCA": 0.25,
            f"lint {topology}": 0.25,
            f"attach {pod} --contract {plan / 'contract.json'}": 0.25,
        }
        return tuple(
            Budget(
                f"processor time of gpu-fabric {command.replace(f'{folder}/', '')}",
                _processor_seconds("-m", "gpu_fabric", *command.split()),
                None,
                "s",
                limit,
                floor,
            )
            for command, limit in commands.items()
        )


def _printed(*arguments: str) -> str:
    command = [sys.executable, "-m", "gpu_fabric", *arguments]
    return subprocess.run(command, cwd=project_root(), capture_output=True, text=True, check=True).stdout


def _processor_seconds(*arguments: str) -> float:
    taken = []
    for _ in range(RUNS):
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=project_root(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
        taken.append(usage.ru_utime + usage.ru_stime)
    return min(taken)
