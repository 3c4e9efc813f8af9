"""One run of the engine: recorded while it lasts, interruptible, and ended with all its plug-ins."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..failure import SandboxError
from ..processes import PidFile, end
from .display import Heartbeat, is_crash, is_news, plain
from .workspace import Workspace


@dataclass(frozen=True)
class Ended:
    """How a run ended: the CLI's exit status, and whether a plug-in crashed on the way."""

    status: int
    crashed: bool


class Runs:
    """The record of the run on a sandbox's stacks: who asked for it (owner), and the engine."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._owner = PidFile(workspace.home.pulumi / "run-owner.json")
        self._engine = PidFile(workspace.home.pulumi / "run-engine.json")

    def require_none(self) -> None:
        """Raise SandboxError when another command is running the engine right now."""
        owner = self._owner.pid()
        if owner is not None and owner != os.getpid():
            raise SandboxError(
                f"process {owner} is running Pulumi on this sandbox right now",
                f"Wait until it has ended, or stop it: kill -INT {owner}",
            )

    def own(self) -> None:
        self._owner.write(os.getpid())

    def release(self) -> None:
        self._owner.remove()

    def end_leftovers(self) -> int:
        """End the engine and plug-ins of an interrupted run; returns the number of processes.

        Plug-ins make process groups of their own but stay in the engine's session, and all carry the
        workspace's PULUMI_HOME: a process must have both to be taken for ours.
        """
        ended = 0
        engine = self._engine.pid()
        for pid in self._session_members():
            end(pid, grace_s=10.0 if pid == engine else 3.0)
            ended += 1
        self._engine.remove()
        return ended

    def run(self, arguments: Sequence[str], cwd: Path, *, quiet: bool = False, total: int | None = None) -> Ended:
        """Run the CLI to its end; `quiet` prints its output only on failure, else the lines that are news are printed.

        While the engine prints nothing, progress is printed: of `total` resources, where the number is known.
        """
        process = subprocess.Popen(
            [self._workspace.command, *arguments],
            cwd=cwd,
            env=self._workspace.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if quiet else None,
            text=True,
            errors="replace",
            # Ctrl-C must reach the engine once, from us, and never its plug-ins first
            start_new_session=True,
        )
        self._engine.write(process.pid)
        kept: list[str] = []
        crashed = False
        try:
            with Heartbeat(print_line, total) if not quiet else contextlib.nullcontext() as heartbeat:
                for line in lines_interruptible(process):
                    crashed = crashed or is_crash(line)
                    if heartbeat is None:
                        kept.append(line)
                        continue
                    shown = is_news(line)
                    heartbeat.heard(plain(line), shown=shown)
                    if shown:
                        print(line, end="", flush=True)
        finally:
            self.end_leftovers()
            self._workspace.clear_temporary()
        if quiet and process.returncode != 0:
            sys.stderr.writelines(kept)
        return Ended(process.returncode, crashed)

    def capture(self, arguments: Sequence[str], cwd: Path) -> str:
        """The standard output of a CLI command that changes nothing; raises SandboxError when it fails."""
        result = subprocess.run(
            [self._workspace.command, *arguments],
            cwd=cwd,
            env=self._workspace.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if result.returncode != 0:
            raise SandboxError(f"pulumi {arguments[0]} failed: {result.stderr.strip()}")
        return result.stdout

    def _session_members(self) -> list[int]:
        session, _ = self._engine.recorded() or (None, None)
        if session is None:
            return []
        home = str(self._workspace.engine_home)
        found = []
        for process in psutil.process_iter():
            try:
                if os.getsid(process.pid) == session and process.environ().get("PULUMI_HOME") == home:
                    found.append(process.pid)
            except (psutil.Error, OSError):
                continue
        # the engine first: on a signal it ends its plug-ins by itself
        return sorted(found, key=lambda pid: pid != session)


def print_line(text: str) -> None:
    """A line on standard output, at once."""
    print(text, flush=True)


def lines_interruptible(process: subprocess.Popen[str]) -> Iterator[str]:
    """The engine's output line by line until it has ended, passing Ctrl-C and SIGTERM on to it.

    The first lets it finish the operations in progress, the second stops it at once; then KeyboardInterrupt is raised.
    """
    interrupts = 0

    def pass_on(number: int, frame: object) -> None:
        nonlocal interrupts
        interrupts += 1
        print("interrupted: the engine finishes what is under way (once more: at once) …", file=sys.stderr)
        process.send_signal(signal.SIGINT)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if process.stdout is not None:
            yield from process.stdout
        process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if interrupts:
        raise KeyboardInterrupt
