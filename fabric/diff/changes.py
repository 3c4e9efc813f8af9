"""How two values differ, property by property."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fabric.diff.model import Change

NAMING = ("name", "key", "resourceName")
"""What may tell the entries of a list apart."""


class Found(NamedTuple):
    """A property that differs. `keys` lead to it without places in lists, `path` is for people."""

    keys: tuple[str, ...]
    path: str
    kind: Literal["added", "removed", "changed"]
    old: Any
    new: Any

    def change(self, *, forces: bool = False, renews: bool = False) -> Change:
        """As it is told."""
        return Change(path=self.path, kind=self.kind, old=self.old, new=self.new, forces=forces, renews=renews)


def differences(old: Any, new: Any, keys: tuple[str, ...] = (), path: str = "") -> Iterator[Found]:
    """Every property that differs, in the order of their names; JSON in a text is looked into."""
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
        return
    inner = _documents(old, new)
    if inner is not None:
        yield from differences(*inner, keys, path)
        return
    yield Found(keys, path, "changed", old, new)


def _entry(old: dict[str, Any], new: dict[str, Any], key: str, keys: tuple[str, ...], path: str) -> Iterator[Found]:
    if key not in old:
        yield Found(keys, path, "added", None, new[key])
    elif key not in new:
        yield Found(keys, path, "removed", old[key], None)
    else:
        yield from differences(old[key], new[key], keys, path)


def _joined(path: str, key: str) -> str:
    if not re.fullmatch(r"[\w-]+", key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _is_deep(entries: list[Any]) -> bool:
    return any(isinstance(entry, dict | list) for entry in entries)


def _by_name(entries: list[Any]) -> dict[str, Any] | None:
    """Entries by what tells them apart; None where nothing does."""
    for key in NAMING:
        names = [str(entry[key]) for entry in entries if isinstance(entry, dict) and key in entry]
        if len(set(names)) == len(entries):
            return dict(zip(names, entries, strict=True))
    return None


def _documents(old: Any, new: Any) -> tuple[Any, Any] | None:
    """Two texts that are JSON objects or lists, as what they hold."""
    if not (isinstance(old, str) and isinstance(new, str) and old[:1] in "{[" and new[:1] in "{["):
        return None
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        return None
    # The same but for its spaces: then the text is what differs.
    return (before, after) if before != after else None
