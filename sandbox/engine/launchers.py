"""The programs that the engine finds in a sandbox's workspace in the place of a cloud's: plug-ins and command lines."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from pathlib import Path

from sandbox.home import project_root, write_private

# Provider -> the Python package of its SDK. The engine asks for a plug-in of the package's version.
_PROVIDERS = {"digitalocean": "pulumi-digitalocean", "oci": "pulumi-oci"}
# A cloud's command line -> the module that stands in for it.
_COMMANDS = {"doctl": "sandbox.cloud.doctl", "oci": "sandbox.cloud.oci.command"}


def place_clouds(engine_home: Path, programs: Path) -> None:
    """Put the simulated clouds into an engine's home, and their command lines into a folder for its PATH."""
    for provider, package in _PROVIDERS.items():
        folder = engine_home / "plugins" / f"resource-{provider}-v{metadata.version(package)}"
        _place(folder / f"pulumi-resource-{provider}", "sandbox.cloud", provider)
    for command, module in _COMMANDS.items():
        _place(programs / command, module)


def _place(program: Path, module: str, *arguments: str) -> None:
    """A program that runs a module of this checkout with this interpreter, wherever it is started."""
    command = shlex.join([sys.executable, "-m", module, *arguments])
    text = f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(project_root()))}\nexec {command} "$@"\n'
    if not program.exists() or program.read_text() != text:
        write_private(program, text)
        program.chmod(0o700)
