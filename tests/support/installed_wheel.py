"""Wheels of the checkout and environments with them, each made once a machine for what it depends on."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest
from kept_folders import kept

# What would lead a program of the new environment to the checkout, or to the environment of the tests.
_STRANGE = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PULUMI_HOME")
UV = (sys.executable, "-m", "uv")


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
        done = run_in([*UV, "pip", "list", "--python", self.programs / "python", "--format", "json"], self.work)
        return {entry["name"].lower() for entry in json.loads(done.stdout)}


def built_wheel(checkout: Path, *read_from: Path) -> Path:
    """The wheel of a checkout's files as they are, alone in its folder; its builder also reads other folders."""

    def build(folder: Path) -> None:
        done = run_in([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], checkout)
        assert done.returncode == 0, done.stderr

    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"].get("only-include", ["."])
    # The stack program is packed by the builder's own code.
    folders = (*(checkout / name for name in (*packages, "stacks")), *read_from)
    files = {path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts}
    # Among these are what the wheel's own files are made of, and what its builder leaves out.
    read = sorted(path for path in files | set(checkout.glob("*")) if path.is_file())
    key = (part for path in read for part in (os.path.relpath(path, checkout), path.read_bytes()))
    (found,) = kept(f"wheel-{project['project']['name']}", [version("hatchling"), *key], build).glob("*.whl")
    return found


def install_in_environment(wheel: Path, work: Path, *others: str, extra: str = "") -> Installed:
    """The wheel with an extra, and others or constraints, in a virtual environment that nobody changes.

    `work` is the folder to work in. The test is skipped where uv reaches no index.
    """

    def make(folder: Path) -> None:
        # With pip, of the index: Pulumi asks it what is installed. Where uv does not find it, it reaches no index.
        made = run_in([*UV, "venv", "--seed", "--python", sys.executable, folder], work)
        if made.returncode != 0:
            said = made.stderr.strip().splitlines() or ["no reason"]
            pytest.skip(f"uv reaches no index of packages: {said[-1]}")
        python = folder / "bin" / "python"
        done = run_in([*UV, "pip", "install", "--python", python, f"{wheel}{extra}", *others], work)
        assert done.returncode == 0, done.stderr

    wheels = [name for name in others if name.endswith(".whl")]
    # What uv takes of the packages of others changes with time.
    week = str(date.today().isocalendar()[:2])
    key = [sys.version, sys.executable, week, extra, *others, *(Path(name).read_bytes() for name in (wheel, *wheels))]
    return Installed(
        kept(f"installed-{wheel.name.partition('-')[0]}-{extra.strip('[]') or 'base'}", key, make) / "bin", work
    )
