"""A terminal for commands: what they write to it, and what a person sees when they have ended."""

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import NamedTuple

_TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)|(.)", re.DOTALL)
_COLOURS = "m"
_PATIENCE_S = 10
"""Silence of a conversation after which it is over."""
_MOST_SILENT = 20
"""How many such silences a program that has all answers may take to end."""
INTERRUPT = "\x03"
"""What Ctrl-C types."""


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


def conversation(folder: Path, *arguments: str, says: list[tuple[str, str]], environment: dict[str, str]) -> Ended:
    """Run Python at a terminal of its own, and type each answer once its question is there.

    The terminal echoes what is typed.
    """
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    os.close(theirs)
    waiting, sent, heard, last, silent = list(says), b"", 0, "", 0
    try:
        while True:
            if not select.select([ours], [], [], _PATIENCE_S)[0]:
                if last == INTERRUPT:
                    # Between Python's last look at signals and its wait for a key, one is noticed at the next.
                    last = ""
                    os.write(ours, INTERRUPT.encode())
                    continue
                # A program that has all answers ends by itself, on a busy machine later: a terminal that closes before
                # would end it by SIGHUP, or let its last words fail.
                silent += 1
                if waiting or silent > _MOST_SILENT:
                    break
                continue
            if not (chunk := os.read(ours, 1 << 16)):
                break
            sent += chunk
            while waiting and (found := sent.find(waiting[0][0].encode(), heard)) >= 0:
                heard = found + len(waiting[0][0].encode())
                last = waiting.pop(0)[1]
                os.write(ours, last.encode())
    except OSError:
        # As above.
        pass
    # Whoever still waits for an answer reads the end of the terminal.
    os.close(ours)
    process.wait()
    assert not waiting, f"was not asked {waiting[0][0]!r}, but: {sent.decode()}"
    return Ended(process.returncode, b"", sent.decode())


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
