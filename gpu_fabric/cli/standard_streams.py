"""Standard output that is complete or reported as an error, in every encoding; imports nothing that loads slowly."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TextIO

INTERRUPTED = 130
"""The shells' status of a program that SIGINT ended."""
UNWRITABLE = 2


def run(program: Callable[[], Callable[[], Any]]) -> NoReturn:
    """Import a program, run it, and end the process with its status.

    `program` imports and returns it, so that an interrupt during the import also ends without a traceback. A failed
    write to standard output (a full disk) ends with status 2 and a message; a closed pipe ends silently.
    """
    _open_closed_streams()
    try:
        sys.stdout, sys.stderr = _whole(sys.stdout), _replacing(sys.stderr)
        status = _status(program)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = 0
    except OSError as error:
        _say(f"standard output: {error.strerror or error}; what was written there is not complete")
        status = UNWRITABLE
    _end(status)


def print_document(text: str) -> None:
    """Print output that becomes a file (JSON, YAML, XML, HTML, Markdown): in UTF-8, in any terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def _status(program: Callable[[], Callable[[], Any]]) -> int:
    try:
        program()()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            _say(ended.code)
            return 1
        return ended.code or 0
    return 0


def _open_closed_streams() -> None:
    """Replace standard streams that the caller has closed: Python has None there, and the next file gets the number.

    What is written to a closed output is an error, as with a full disk.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(_Closed()), "utf-8")
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


class _Closed(io.RawIOBase):
    """A stream that takes nothing."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "It is closed")


def _whole(stream: TextIO) -> TextIO:
    """The stream with a buffer: an unbuffered stream loses the rest of a partial write without an error."""
    raw = getattr(stream, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        stream = io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, line_buffering=True)
    return _replacing(stream)


def _replacing(stream: TextIO) -> TextIO:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    return stream


def _say(message: str) -> None:
    with suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def _end(status: int) -> NoReturn:
    # At exit, the interpreter would retry the failed write and print a traceback.
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)
