"""Files of the user, or of a stranger's pull request: read within a bound, and only where they are regular files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 64 << 20
"""The most bytes of a file, where the reader has no bound of its own."""


def open_file(path: Path, *, pipes: bool = False) -> BinaryIO:
    """A file for reading. A device never ends, and a pipe without a writer never begins.

    `pipes`: named on the command line, a pipe is the output of another command, such as `<(kubectl logs …)`.

    Raises:
        OSError: it cannot be opened, or is not a regular file; with `filename` and `strerror`.
    """
    # Without blocking, a pipe opens before it has a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind) or (pipes and stat.S_ISFIFO(kind)):
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "Not a regular file", str(path))


def file_content(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file of at most `most` bytes.

    Raises:
        OSError: as `open_file`, or it is larger.
    """
    with open_file(path) as stream:
        return stream_content(stream, str(path), most)


def argument_content(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file that an argument names, which may be a pipe.

    Raises:
        OSError: as `file_content`.
    """
    with open_file(path, pipes=True) as stream:
        return stream_content(stream, str(path), most)


def file_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file of at most `most` bytes, with every line end as a line feed.

    Raises:
        OSError: as `file_content`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return file_content(path, most).decode().replace("\r\n", "\n").replace("\r", "\n")


def stream_content(stream: BinaryIO, name: str, most: int = MOST_BYTES) -> bytes:
    """The rest of a stream of at most `most` bytes; `name` is for messages.

    Raises:
        OSError: it cannot be read, or has more.
    """
    content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"Larger than {most >> 20} MiB", name)
    return content
