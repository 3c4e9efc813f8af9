"""The records of controllers' processes, which outlive the one that starts and ends them if that is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from ..home import SandboxHome
from ..processes import PidFile, end, stop

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
    ended = [file.stem.removeprefix(_PREFIX) for file in files if stop(PidFile(file), grace_s)]
    for pid, pod in list(_without_record(home)):
        end(pid, grace_s)
        ended.append(pod)
    return ended


def _without_record(home: SandboxHome) -> Iterator[tuple[int, str]]:
    """The pids and pods of processes that were started by one that was killed before it could record them."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            kubeconfig = Path(process.environ().get("KUBECONFIG", ""))
            if kubeconfig.parent.parent == home.controllers:
                yield process.pid, kubeconfig.parent.name.partition(".")[2]
