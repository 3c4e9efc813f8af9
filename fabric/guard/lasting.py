"""What of a resource's properties is compared by the guard: what cannot change in place, and numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from fabric.diff.changes import NAMING

Keys = tuple[str, ...]
"""The keys that lead to a property, without places in lists."""

# A longer text, such as a script, says in a digest as well that it is another one.
_LONGEST = 200


def keys_of(path: str) -> Keys:
    """A path with dots, taken apart."""
    return tuple(path.split("."))


def lasting(value: Any, paths: Iterable[Keys], *, numbers: bool = False) -> Any:
    """The part of a value that lies at some paths, and where wished all numbers; None where there is nothing.

    Entries of lists keep what tells them apart, so that the same ones are compared.
    """
    paths = tuple(paths)
    if () in paths:
        return value
    if isinstance(value, dict):
        parts = {
            key: lasting(entry, (path[1:] for path in paths if path[0] == key), numbers=numbers)
            for key, entry in value.items()
        }
        return {key: part for key, part in parts.items() if part is not None} or None
    if isinstance(value, list):
        entries = [lasting(entry, paths, numbers=numbers) for entry in value]
        if any(entry is not None for entry in entries):
            return [_named(entry, part) for entry, part in zip(value, entries, strict=True)]
        return None
    return value if numbers and number(value) is not None else None


def number(value: Any) -> int | None:
    """A whole number, also where a provider takes it as a text; None for all else."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    # Whether something is on is a number to Python.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shortened(value: Any) -> Any:
    """A value with digests in the place of long texts."""
    if isinstance(value, dict):
        return {key: shortened(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [shortened(entry) for entry in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"<text {hashlib.sha256(value.encode()).hexdigest()[:16]}>"
    return value


def _named(entry: Any, part: Any) -> Any:
    names = {key: entry[key] for key in NAMING if key in entry} if isinstance(entry, dict) else {}
    return names | (part or {}) if isinstance(part, dict | None) else part
