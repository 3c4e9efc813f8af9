"""A terminal for commands: what they write to it, and what a person sees when they have ended."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)|(.)", re.DOTALL)
_COLOURS = "m"


class Ended(NamedTuple):
    """A command that has ended: its status, its redirected output, and what the terminal was sent."""

    status: int
    stdout: bytes
    sent: str

    @property
    def screen(self) -> list[str]:
        """The lines that are left, without empty ones at the end. Fails where the cursor is left hidden."""
        lines, hidden = _replayed(self.sent)
        assert not hidden, "the cursor is left hidden"
        return lines


def at_terminal(folder: Path, *arguments: str, environment: dict[str, str], redirected: bool = False) -> Ended:
    """Run Python at a terminal; where it is redirected, standard output goes into a file instead."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file if redirected else theirs,
            stderr=theirs,
        )
        os.close(theirs)
        sent = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                sent += chunk
        except OSError:
            # So Linux says that nobody has the terminal open any more.
            pass
        os.close(ours)
        status = process.wait()
        file.seek(0)
        return Ended(status, file.read(), sent.decode())


def _replayed(sent: str) -> tuple[list[str], bool]:
    """The lines that a terminal shows, and whether its cursor is hidden."""
    lines, row, column, hidden = [""], 0, 0, False
    for numbers, command, back, down, text, other in _TOKEN.findall(sent):
        assert not other, f"{other!r} is not played here"
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif back:
            column = 0
        elif down:
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif command == "A":
            row -= int(numbers or 1)
        elif (numbers, command) == ("2", "K"):
            lines[row] = ""
        elif numbers == "?25":
            hidden = command == "l"
        else:
            assert command == _COLOURS, f"{numbers}{command} is not played here"
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines], hidden
