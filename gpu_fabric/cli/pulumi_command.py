"""How a command reads a stack's state, and repairs it: by the user's own pulumi, with the login that it has."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from gpu_fabric.base.user_files import file_content
from gpu_fabric.live.engine_run import RECORDING
from gpu_fabric.live.state import Lock, StackState, UnreadStateError

_READING_S = 120
_LAST_LINES = 12


class PulumiError(Exception):
    """Pulumi did not do what was asked, in one message with the remedy."""


@dataclass(frozen=True)
class Pulumi:
    """Pulumi on one stack, in its project; `config_file` is the stack file where Pulumi would not find it."""

    folder: Path
    stack: str
    config_file: Path | None = None

    def state(self) -> StackState:
        """What is recorded of the stack; empty for one that was never created.

        Raises:
            PulumiError: see the class.
        """
        try:
            exported = self._read("stack", "export", "--stack", self.stack)
        except _NoStackError:
            return StackState()
        latest: dict[str, Any] = exported.get("deployment") or {}
        return StackState(
            tuple(latest.get("resources") or ()), tuple(latest.get("pending_operations") or ()), tuple(self._locks())
        )

    def known_state(self) -> StackState:
        """What is recorded of the stack. Raises UnreadStateError, with the reason of a PulumiError."""
        try:
            return self.state()
        except PulumiError as error:
            raise UnreadStateError(str(error)) from None

    def exported(self) -> dict[str, Any]:
        """The stack's whole state with its secrets in plain text, as `pulumi stack export` gives it.

        Raises:
            PulumiError: see the class; also if there is no such stack.
        """
        exported: dict[str, Any] = self._read("stack", "export", "--show-secrets", "--stack", self.stack)
        return exported

    def replace_state(self, exported: str) -> None:
        """Have Pulumi record another state, with the stack's own encryption of secrets.

        Raises:
            PulumiError: see the class.
        """
        self._run(["stack", "import", "--stack", self.stack], None, exported)

    def create(self) -> None:
        """Create the stack without resources, where it does not exist; the selected stack stays selected.

        Raises:
            PulumiError: see the class.
        """
        try:
            self._read("stack", "export", "--stack", self.stack)
        except _NoStackError:
            self._run(("stack", "init", "--no-select", "--stack", self.stack), _READING_S)

    def version(self) -> str:
        """The version of the command line. Raises PulumiError."""
        return self._run(("version",), _READING_S).strip()

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secret ones masked. Raises PulumiError."""
        found: dict[str, Any] = self._read("stack", "output", "--json", "--stack", self.stack)
        return found

    def secret_output(self, name: str) -> str:
        """An output in plain text. Raises PulumiError, without what was printed."""
        return self._run(("stack", "output", name, "--show-secrets", "--stack", self.stack), _READING_S)

    def show(self, verb: str, events: Path) -> int:
        """Run `up` or `destroy` without a question, as if the user had typed it; gives the exit status.

        The run's events go to the file `events`. The terminal's Ctrl-C reaches Pulumi as well, which finishes what is
        under way; SIGTERM is passed on.

        Raises:
            PulumiError: there is no pulumi.
            KeyboardInterrupt: after the end of a run that was interrupted.
        """
        options = ["--yes", "--skip-preview", "--suppress-outputs", "--event-log", str(events)]
        command = [_program(), verb, *options, *self._on_stack()]
        signals, running = list[int](), list[subprocess.Popen[bytes]]()

        def pass_on(number: int, _: object) -> None:
            signals.append(number)
            for process in running if number == signal.SIGTERM else ():
                process.send_signal(signal.SIGINT)

        # Before the start: a signal right after it must be waited for as well.
        before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            running.append(subprocess.Popen(command, cwd=self.folder, env={**os.environ, **RECORDING}))
            status = running[0].wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if signals:
            raise KeyboardInterrupt
        return status

    def run(self, arguments: Sequence[str]) -> None:
        """Run a command on the stack that changes its state.

        Raises:
            PulumiError: see the class; the text has the last lines that it printed.
        """
        self._run([*arguments, *(["--stack", self.stack] if arguments[0] == "cancel" else self._on_stack())], None)

    def _on_stack(self) -> list[str]:
        file = [] if self.config_file is None else ["--config-file", str(self.config_file)]
        return ["--stack", self.stack, *file]

    def _read(self, *arguments: str) -> Any:
        try:
            return json.loads(self._run(arguments, _READING_S))
        except ValueError:
            raise PulumiError(f"`pulumi {' '.join(arguments[:2])}` printed no JSON; run it to see why") from None

    def _run(self, arguments: Sequence[str], limit_s: int | None, given: str = "") -> str:
        shown = f"pulumi {' '.join(arguments[:2])}"
        program = _program()
        try:
            done = subprocess.run(
                [program, *arguments, "--non-interactive"],
                cwd=self.folder,
                input=given,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PulumiError(f"`{shown}` gave no answer in {limit_s} seconds; run it to see why") from None
        if done.returncode == 0:
            return done.stdout
        if "no stack named" in done.stderr:
            raise _NoStackError(f"there is no stack {self.stack}")
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:])
        raise PulumiError(f"`{shown}` failed with exit code {done.returncode}:\n{last}")

    def _locks(self) -> Iterator[Lock]:
        """The locks on the stack, as far as the backend shows them: in a folder, or at Pulumi's service."""
        url = str(self._read("whoami", "--json").get("url", ""))
        parts = urlsplit(url)
        if parts.scheme == "file":
            root = Path(f"{parts.netloc}{parts.path}").expanduser() / ".pulumi" / "locks"
            for file in sorted(root.glob(f"**/{self.stack}/*.json")):
                if file.parent.parent.name in (self.project(), root.name):
                    yield _lock_of(file)
        elif parts.scheme in ("http", "https"):
            for row in self._read("stack", "ls", "--json"):
                if str(row.get("name", "")).rpartition("/")[2] == self.stack and row.get("updateInProgress"):
                    yield Lock(url, "an update in progress", "unknown")

    def project(self) -> str:
        """The name of the project in the folder; empty if there is none."""
        import yaml

        try:
            project = yaml.safe_load(file_content(self.folder / "Pulumi.yaml"))
        except (OSError, yaml.YAMLError):
            return ""
        return str(project.get("name", "")) if isinstance(project, dict) else ""


class _NoStackError(PulumiError):
    pass


def _program() -> str:
    program = shutil.which("pulumi")
    if program is None:
        raise PulumiError("there is no pulumi on PATH; install the Pulumi CLI (https://www.pulumi.com/docs/install/)")
    return program


def _lock_of(file: Path) -> Lock:
    try:
        content: dict[str, Any] = json.loads(file_content(file))
    except (OSError, ValueError):
        return Lock(file.name, "a run that did not finish writing it", "gone")
    pid, host = content.get("pid"), str(content.get("hostname", ""))
    taken_by = f"process {pid} of {content.get('username')} on {host} since {content.get('timestamp')}"
    return Lock(file.name, taken_by, _holder(pid, host))


def _holder(pid: Any, host: str) -> Literal["runs", "gone", "unknown"]:
    """Whether the process that took a lock runs; only this machine's can be asked."""
    if host != platform.node() or not isinstance(pid, int):
        return "unknown"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "runs"
    try:
        # Another process may have got the number.
        return "runs" if "pulumi" in Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") else "gone"
    except OSError:
        return "runs"
