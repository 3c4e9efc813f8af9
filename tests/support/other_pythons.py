"""Other versions of Python than the tests' own, with what a plan needs: uv fetches that once a machine."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from installed_wheel import UV
from kept_folders import kept

# What planning and rendering import; the versions are the program's own.
PACKAGES = ("jinja2", "pydantic", "pyyaml", "typer", "rich")
OLDEST, NEWEST = 11, 20
_SECONDS = 180


class NotToBeHad(Exception):
    """An interpreter that does not run, or whose packages cannot be fetched; the text says why."""


def other_pythons() -> Iterator[str]:
    """Interpreters of other versions that this machine has, newest first: on PATH, pyenv's, and those of runners."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    runner = Path(os.environ.get("RUNNER_TOOL_CACHE", "/opt/hostedtoolcache")) / "Python"
    for minor in range(NEWEST, OLDEST - 1, -1):
        name = f"python3.{minor}"
        kept = [*pyenv.glob(f"3.{minor}.*/bin/{name}"), *runner.glob(f"3.{minor}.*/*/bin/{name}")]
        for found in (*filter(None, [shutil.which(name)]), *map(str, sorted(kept))):
            if minor != sys.version_info.minor:
                yield found


def equipped(python: str, requirements: Path) -> str:
    """An interpreter of that version that has the packages, in the versions that a requirements file pins.

    Raises NotToBeHad.
    """
    version = _said(python, "-c", "import sys; print(*sys.version_info[:3], sep='.')").strip()
    pins = sorted(line for line in requirements.read_text().splitlines() if re.split("==", line)[0].lower() in PACKAGES)

    def make(new: Path) -> None:
        _said(*UV, "venv", "--python", python, str(new))
        _said(*UV, "pip", "install", "--python", str(new / "bin" / "python"), "--only-binary", ":all:", *pins)

    return str(kept(f"python-{version}", [python, *pins], make) / "bin" / "python")


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotToBeHad(str(error)) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"ended with {done.returncode}"]
        raise NotToBeHad(f"{' '.join(command[:3])}: {lines[-1]}")
    return done.stdout
