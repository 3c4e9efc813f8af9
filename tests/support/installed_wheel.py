"""What is installed in a virtual environment of its own, and its programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

# What would lead a program of the new environment to the checkout, or to the environment of the tests.
_STRANGE = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PULUMI_HOME")


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _STRANGE}


def run_in(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody has it who has neither the checkout nor the environment of the tests."""
    return subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Installed:
    """The wheel as somebody has it who has no checkout: the environment's programs, and a folder to work in."""

    programs: Path
    work: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command `gpu-fabric` in the folder."""
        return run_in([self.programs / "gpu-fabric", *arguments], self.work)

    def output(self, *arguments: str) -> str:
        """What the command prints; fails where it does not end well."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, *arguments: str) -> str:
        """What the environment's Python prints, run in the folder with arguments."""
        done = run_in([self.programs / "python", *arguments], self.work)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def packages(self) -> set[str]:
        """The packages that are installed, by their names in lower case."""
        done = run_in([self.programs / "python", "-m", "pip", "list", "--format", "json"], self.work)
        return {entry["name"].lower() for entry in json.loads(done.stdout)}


def build_wheel(checkout: Path, folder: Path) -> Path:
    """The wheel of a checkout, made in a folder that is empty."""
    done = run_in([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], checkout)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def install_wheel(wheel: str, programs: Path, work: Path, *constraints: str) -> Installed:
    """Install the wheel, and what it needs within the constraints, into the environment that has these programs.

    An extra stands in brackets behind the wheel's path.
    """
    # Compiled when it is imported: of Pulumi's packages that is a small part.
    options = ["install", "--quiet", "--no-compile"]
    done = run_in([programs / "python", "-m", "pip", *options, wheel, *constraints], work)
    assert done.returncode == 0, done.stderr
    return Installed(programs, work)


def install_in_environment(wheel: Path, folder: Path, *constraints: str, extra: str = "") -> Installed:
    """Install the wheel into a virtual environment of its own; the test is skipped where pip reaches no index."""
    work = folder / "work"
    work.mkdir()
    made = run_in([sys.executable, "-m", "venv", str(folder / "venv")], work)
    assert made.returncode == 0, made.stderr
    programs = folder / "venv" / "bin"
    # A package that the wheel always needs: where pip does not find it, it reaches no index.
    probe = ["download", "--quiet", "--no-deps", "--dest", str(folder / "probe"), "annotated-types"]
    reached = run_in([programs / "python", "-m", "pip", *probe], work)
    if reached.returncode != 0:
        pytest.skip(f"pip reaches no index of packages: {(reached.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return install_wheel(f"{wheel}{extra}", programs, work, *constraints)
