"""A simulated cloud's objects: one JSON file each, since plug-in processes are short-lived."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..home import file_lock, write_private

Record = dict[str, Any]


class Store:
    """Objects in folders by collection; a file is replaced in one step, so a reader sees a whole object or none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def lock(self, name: str = "all") -> Iterator[None]:
        """Hold a named lock against other threads and processes; not to be taken twice by one thread."""
        with file_lock(self._folder / "locks" / name, wait=True):
            yield

    def add(self, collection: str, record: Record) -> Record:
        """Keep a new object, under its `id`; `number` gives the order in which objects came."""
        record = {**record, "number": time.time_ns()}
        self.put(collection, record)
        return record

    def put(self, collection: str, record: Record) -> None:
        """Keep an object as it is now."""
        write_private(self._path(collection, record["id"]), json.dumps(record, indent=1, sort_keys=True) + "\n")

    def get(self, collection: str, identifier: str) -> Record | None:
        """The object of this id; None when there is none."""
        return _read(self._path(collection, identifier))

    def list(self, collection: str) -> list[Record]:
        """All objects of a collection, the oldest first."""
        found = (_read(path) for path in (self._folder / collection).glob("*.json"))
        return sorted((record for record in found if record is not None), key=lambda record: record["number"])

    def remove(self, collection: str, identifier: str) -> None:
        """Forget an object; one that is not there is forgotten already."""
        self._path(collection, identifier).unlink(missing_ok=True)

    def _path(self, collection: str, identifier: str) -> Path:
        if not identifier or Path(identifier).name != identifier or identifier.startswith("."):
            # an id comes from the program: it must not lead out of the folder
            return self._folder / collection / "no-such-object"
        return self._folder / collection / f"{identifier}.json"


def _read(path: Path) -> Record | None:
    try:
        record: Record = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return record
