"""`kubectl fabric-attach`: kubectl finds the plug-in beside `gpu-fabric`, and it prints what `attach` prints."""

import os
import subprocess
import sys
from pathlib import Path

from attached_pods import MANIFESTS
from rich.console import Console

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

PROGRAMS = Path(sys.executable).parent


def run(command: list[str], root: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def test_kubectl_forwards_to_the_command_with_all_arguments(root: Path) -> None:
    kubectl = ensure(["core"], Progress(Console(stderr=True))).role("kubectl")
    arguments = [str(MANIFESTS / "mpijob.yaml"), "-s", "dev", "-c", "launcher", "--container", "worker"]
    plug_in = run([*kubectl, "fabric-attach", *arguments], root)
    command = run(["gpu-fabric", "attach", *arguments], root)

    assert (plug_in.returncode, plug_in.stderr) == (0, command.stderr)
    assert plug_in.stdout == command.stdout != ""
