"""The records of controllers' processes, which outlive the one that starts and ends them if that is killed."""

from __future__ import annotations

from sandbox.home import SandboxHome
from sandbox.processes import PidFile, stop

_PREFIX = "controller-"


def pid_file(home: SandboxHome, pod: str) -> PidFile:
    """The record of a pod's process."""
    return PidFile(home.pids / f"{_PREFIX}{pod}.json")


def pids(home: SandboxHome) -> dict[str, int | None]:
    """Pod of a controller -> the pid of its process, None where that has ended."""
    files = sorted(home.pids.glob(f"{_PREFIX}*.json"))
    return {file.stem.removeprefix(_PREFIX): PidFile(file).pid() for file in files}


def end_all(home: SandboxHome, grace_s: float = 2.0) -> list[str]:
    """End every controller's process; gives their pods' names."""
    files = sorted(home.pids.glob(f"{_PREFIX}*.json"))
    return [file.stem.removeprefix(_PREFIX) for file in files if stop(PidFile(file), grace_s)]
