"""Programs that the machine already has and that do as well as a build of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from sandbox.toolchain.recipes import Probe, recipes, version_tuple

ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"


def pulumi_of_the_machine() -> Path | None:
    """The Pulumi CLI on PATH, when it is recent enough and brings its language host; else None."""
    instead = recipes()["pulumi"].instead
    found = shutil.which(instead.command) if instead else None
    if not instead or not found:
        return None
    # the host lies beside the real file, not beside a link to it
    command = Path(found).resolve()
    if not all((command.parent / name).exists() for name in instead.beside):
        return None
    return command if is_recent(command, instead) else None


def role_of_the_machine() -> dict[str, Path]:
    """The parts of the control plane that ``KUBEBUILDER_ASSETS`` holds in a good version, by name."""
    folder = os.environ.get(ASSETS_VARIABLE)
    if not folder:
        return {}
    roles = recipes()["control-plane"].roles
    programs = {role: (Path(folder).expanduser() / role).absolute() for role in roles}
    return {role: program for role, program in programs.items() if is_recent(program, roles[role])}


def is_recent(program: Path, probe: Probe) -> bool:
    """Whether the program runs and says that it is at least the probe's version."""
    try:
        output = subprocess.run(
            [program, *probe.arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return version_tuple(output) >= version_tuple(probe.at_least)
