"""The user's own `zstd`, by which layers of images are decompressed: Python has none before 3.14."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import BinaryIO, cast

from gpu_fabric.image.layers import ImageError

_CHUNK = 1 << 20


@contextmanager
def decompressed(blob: BinaryIO) -> Iterator[BinaryIO]:
    """What a blob has, as a stream. The program keeps to the memory that it allows itself, 128 MiB by default.

    Raises:
        ImageError: the program is not installed.
    """
    program = shutil.which("zstd")
    if program is None:
        raise ImageError("a layer is compressed by zstd: install the program zstd")
    with subprocess.Popen([program, "-dcq"], stdin=-1, stdout=-1, stderr=subprocess.DEVNULL) as process:

        def feed() -> None:
            assert process.stdin is not None
            with suppress(OSError), process.stdin:
                shutil.copyfileobj(blob, process.stdin, _CHUNK)

        feeder = Thread(target=feed, daemon=True)
        feeder.start()
        try:
            yield cast(BinaryIO, process.stdout)
        finally:
            process.kill()
            feeder.join()
