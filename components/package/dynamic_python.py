"""The Python that Pulumi starts for the resources written in Python, where a program is in another language.

The engine passes the options of the program's runtime to every plug-in, and the CLI's script
`pulumi-resource-pulumi-python` takes the interpreter from them (pulumi/sdk/v3.259.0/python/dist).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pulumi

import gpu_fabric

from . import COMPONENTS

_LOOK = "import gpu_fabric, pulumi.dynamic, {package}; print(gpu_fabric.__version__)"


@cache
def refuse_other_python() -> None:
    """End the run where the resources written in Python would be asked of an interpreter without this package.

    Raises:
        pulumi.RunError: the interpreter lacks the package, or has it in another version.
    """
    python, search = interpreter(os.environ)
    if not python:
        return
    look = ["-c", _LOOK.format(package=COMPONENTS)]
    try:
        done = subprocess.run(
            [python, *look], env={**os.environ, "PATH": search}, capture_output=True, text=True, timeout=60
        )
        version = done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        version = ""
    if version == gpu_fabric.__version__:
        return
    found = f"has gpu-fabric {version}" if version else f"lacks {COMPONENTS}"
    raise pulumi.RunError(
        f"a part of the fabric is written in Python, and Pulumi runs it with {python!r}, which {found}: nothing was "
        f"created.\n  -> create a virtual environment with gpu-fabric {gpu_fabric.__version__}, from the path of its "
        "checkout or wheel by `pip install 'PATH[pulumi]'`, and name it in the program's Pulumi.yaml as the option "
        "`virtualenv` of `runtime`, whatever the language (docs/languages.md)"
    )


def interpreter(environment: Mapping[str, str]) -> tuple[str, str]:
    """The command of the interpreter and the PATH by which it is found; no command where Poetry chooses it."""
    search = _before_activation(environment.get("PATH", ""))
    chosen = environment.get("PULUMI_RUNTIME_VIRTUALENV")
    toolchain = environment.get("PULUMI_RUNTIME_TOOLCHAIN")
    if not chosen and toolchain == "poetry":
        return "", search
    if not chosen and toolchain == "uv":
        chosen = ".venv"
    if chosen:
        return str(Path.cwd() / chosen / "bin" / "python"), search
    return environment.get("PULUMI_PYTHON_CMD") or "python3", search


def _before_activation(search: str) -> str:
    """The PATH without the folder of this process's environment, which the language host has put first."""
    first, _, others = search.partition(os.pathsep)
    return others if first and Path(first).resolve() == Path(sys.prefix).resolve() / "bin" else search
