"""The CLI's own record of a run: its events, a JSON document a line."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# The CLI knows the option to record its events only with this.
RECORDING = {"PULUMI_DEBUG_COMMANDS": "true"}


@contextlib.contextmanager
def recorded(read: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Options by which the CLI records a run, whose lines are read afterwards; nothing of it stays."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events"
        yield ["--event-log", str(log)]
        if log.exists():
            read(log.read_text().splitlines())
