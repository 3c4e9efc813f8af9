"""How two values differ, property by property; and the part of a value that the guard records."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from gpu_fabric.changes.model import Change

NAMING = ("name", "key", "resourceName")
"""The keys by which entries of a list are told apart."""


Keys = tuple[str, ...]
"""The keys that lead to a property, without places in lists."""


class Difference(NamedTuple):
    """A property that differs. `keys` lead to it without places in lists; `path` is for people."""

    keys: Keys
    path: str
    kind: Literal["added", "removed", "changed"]
    old: Any
    new: Any

    def change(self, *, forces: bool = False, renews: bool = False) -> Change:
        """The change as it is reported."""
        return Change(path=self.path, kind=self.kind, old=self.old, new=self.new, forces=forces, renews=renews)


def differences(old: Any, new: Any, keys: Keys = (), path: str = "") -> Iterator[Difference]:
    """Compare two values, and yield every property that differs, sorted by name; JSON within text is compared too."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _entry(old, new, key, (*keys, key), _joined(path, key))
        return
    if isinstance(old, list) and isinstance(new, list) and _is_deep(old) and _is_deep(new):
        before, after = _by_name(old), _by_name(new)
        if before is None or after is None:
            before, after = ({str(place): entry for place, entry in enumerate(entries)} for entries in (old, new))
        for name in dict.fromkeys([*before, *after]):
            yield from _entry(before, after, name, keys, f"{path}[{name}]")
        kept = [name for name in before if name in after]
        moved = [name for name in after if name in before]
        if kept != moved:
            # Providers compare lists place by place.
            yield Difference(keys, f"{path}[order]", "changed", kept, moved)
        return
    inner = _documents(old, new)
    if inner is not None:
        yield from differences(*inner, keys, path)
        return
    yield Difference(keys, path, "changed", old, new)


def _entry(old: dict[str, Any], new: dict[str, Any], key: str, keys: Keys, path: str) -> Iterator[Difference]:
    if key not in old:
        yield Difference(keys, path, "added", None, new[key])
    elif key not in new:
        yield Difference(keys, path, "removed", old[key], None)
    else:
        yield from differences(old[key], new[key], keys, path)


def _joined(path: str, key: str) -> str:
    if not re.fullmatch(r"[\w-]+", key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _is_deep(entries: list[Any]) -> bool:
    return any(isinstance(entry, dict | list) for entry in entries)


def _by_name(entries: list[Any]) -> dict[str, Any] | None:
    """Entries by the key that tells them apart; None where there is no such key."""
    for key in NAMING:
        names = [str(entry[key]) for entry in entries if isinstance(entry, dict) and key in entry]
        if len(set(names)) == len(entries):
            return dict(zip(names, entries, strict=True))
    return None


def _documents(old: Any, new: Any) -> tuple[Any, Any] | None:
    """The contents of two texts that are JSON objects or lists."""
    if not (isinstance(old, str) and isinstance(new, str) and old[:1] in "{[" and new[:1] in "{["):
        return None
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        return None
    # Where only their whitespace differs, the texts are compared.
    return (before, after) if before != after else None


# Longer texts, such as scripts, are recorded as digests.
_LONGEST = 200


def keys_of(path: str) -> Keys:
    """Split a dotted path."""
    return tuple(path.split("."))


def recorded_part(value: Any, paths: Iterable[Keys], *, numbers: bool = False) -> Any:
    """The part of a value at the paths, and with `numbers` also every number; None where nothing is left.

    Entries of lists keep the keys that tell them apart, so that the same entries are compared.
    """
    paths = tuple(paths)
    if () in paths:
        return value
    if isinstance(value, dict):
        parts = {
            key: recorded_part(entry, (path[1:] for path in paths if path[0] == key), numbers=numbers)
            for key, entry in value.items()
        }
        return {key: part for key, part in parts.items() if part is not None} or None
    if isinstance(value, list):
        entries = [recorded_part(entry, paths, numbers=numbers) for entry in value]
        if any(entry is not None for entry in entries):
            return [_named(entry, part) for entry, part in zip(value, entries, strict=True)]
        return None
    return value if numbers and number(value) is not None else None


def number(value: Any) -> int | None:
    """A whole number, also from text, as some providers take it; None for other values."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    # In Python, a bool is an int.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def with_digests(value: Any) -> Any:
    """A value with digests in place of long texts."""
    if isinstance(value, dict):
        return {key: with_digests(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_digests(entry) for entry in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"<text {hashlib.sha256(value.encode()).hexdigest()[:16]}>"
    return value


def _named(entry: Any, part: Any) -> Any:
    names = {key: entry[key] for key in NAMING if key in entry} if isinstance(entry, dict) else {}
    return names | (part or {}) if isinstance(part, dict | None) else part
