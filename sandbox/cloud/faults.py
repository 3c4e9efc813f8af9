"""Faults on demand: what a simulated cloud shall do wrong, kept in the home until it has happened."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..home import file_lock, write_private


class Faults:
    """The faults ordered in a folder; each is handed out just once, whichever process asks first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def happens(self, name: str) -> bool:
        """Whether a fault counted in times is to happen now; one time less is left then."""
        with self.open() as ordered:
            left = ordered.get(name, 0)
            if left > 1:
                ordered[name] = left - 1
            else:
                ordered.pop(name, None)
            return bool(left)

    def seconds(self, name: str) -> int:
        """How long a fault is to last that begins now; 0 when none is ordered."""
        with self.open() as ordered:
            return int(ordered.pop(name, 0))

    @contextlib.contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """The faults that are left, by name; what the block makes of them is kept."""
        file = self._folder / "faults.json"
        with file_lock(self._folder / "faults.lock", wait=True):
            before = file.read_text() if file.exists() else "{}"
            ordered: dict[str, Any] = json.loads(before)
            yield ordered
            after = json.dumps(ordered)
            if after != before:
                write_private(file, after)
