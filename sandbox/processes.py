"""Processes that outlive the command that started them, each known by a pid file.

A pid file holds the pid and the moment the process started, so that a pid which the system has handed to
another program in the meantime is never taken for ours, and never ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from .home import write_private

STARTED = "--- started"
"""What a line in a log begins with that is written before a process."""


def start_mark(pid: int) -> str | None:
    """A text that distinguishes this process from any other that ever had its pid; None when it is not running.

    On Linux the boot's id and the start in clock ticks since boot: unlike a wall-clock time, neither moves when
    the clock is set or the machine has slept. A zombie counts as not running.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        created = str(process.create_time())
    except psutil.Error:
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # the command's name, in parentheses, may hold blanks: count fields from behind it
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return f"{boot}:{fields[19]}"
    except (OSError, IndexError):
        return created


@dataclass(frozen=True)
class PidFile:
    """The record of one process."""

    path: Path

    def write(self, pid: int) -> None:
        write_private(self.path, json.dumps({"pid": pid, "started": start_mark(pid)}))

    def recorded(self) -> tuple[int, str | None] | None:
        """Pid and start mark as recorded, whether or not that process still lives; None without a record."""
        try:
            record = json.loads(self.path.read_text())
            return int(record["pid"]), record["started"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def pid(self) -> int | None:
        """The pid of the recorded process while exactly that process lives, else None."""
        pid, started = self.recorded() or (0, None)
        return pid if started is not None and start_mark(pid) == started else None

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def start(command: Sequence[str], pid_file: PidFile, log: Path, env: Mapping[str, str], cwd: Path) -> int:
    """Start a process in a session of its own, its output appended to the log, and record it; gives its pid.

    It holds neither this command's terminal nor its pipes, so `up | tee` ends when `up` ends.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as output:
        output.write(f"{STARTED} {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode())
        output.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    pid_file.write(process.pid)
    # the process outlives this one: without this the interpreter warns when the object is collected
    process.returncode = 0
    return process.pid


def exit_status(pid_file: PidFile) -> int | None:
    """The exit status of a process that this one has started and that has ended; None if it cannot be known.

    Waits for its last thread: a process is a zombie as soon as its first one has ended, and its status is known later.
    """
    pid, _ = pid_file.recorded() or (0, None)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if pid else None
    except ChildProcessError:
        return None


def stop(pid_file: PidFile, grace_s: float = 10.0) -> bool:
    """Terminate the recorded process, and kill it after the grace period; True when there was one.

    The pid file is deleted last, so that an interrupted `down` can be repeated; it stays where it records another
    process, which was started meanwhile.
    """
    pid = pid_file.pid()
    if pid is None:
        pid_file.remove()
        return False
    end(pid, grace_s)
    if pid_file.pid() is None:
        pid_file.remove()
    return True


def end(pid: int, grace_s: float) -> None:
    """SIGTERM, then SIGKILL after the grace; returns when the process is gone."""
    mark = start_mark(pid)
    for number, patience in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        if mark is None or start_mark(pid) != mark:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        wait_gone(pid, mark, patience)


def wait_gone(pid: int, mark: str, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        if start_mark(pid) != mark:
            return
        time.sleep(0.02)


def last_lines(log: Path, count: int) -> list[str]:
    """The end of a log, for a message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except OSError:
        return []
