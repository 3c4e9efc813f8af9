"""What forces a resource to be made anew, from the table beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fabric.diff.changes import Found
from fabric.model import FrozenModel
from fabric.tables import read_table

Keys = tuple[str, ...]


class Row(FrozenModel):
    """What is known of a type, or of all that begin so; see the table."""

    replaced: tuple[str, ...]
    lowered: tuple[str, ...] = ()
    kept: tuple[str, ...] | Literal["all"] = ()
    renewed: tuple[str, ...] = ()
    renewing: str = ""


class Rules(NamedTuple):
    """The rules for a type, as paths that are taken apart."""

    replaced: tuple[Keys, ...]
    lowered: tuple[Keys, ...]
    kept: tuple[Keys, ...]
    renewed: tuple[Keys, ...]
    renewing: tuple[Keys, ...]

    def forces(self, found: Found) -> bool:
        """Whether a change cannot be made in place."""
        if found.kind == "removed" and _touched(self.kept, found):
            return False
        return _touched(self.replaced, found) or (_touched(self.lowered, found) and _is_lower(found.new, found.old))

    def renews(self, found: Found, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether a change that is made in place renews the machines, by a resource's properties before and after."""
        # What the program drops stays on.
        on = (_value(new, keys) if _has(new, keys) else _value(old, keys) for keys in self.renewing)
        return _touched(self.renewed, found) and (any(on) or not self.renewing)


@cache
def rules_of(resource_type: str) -> Rules:
    """The rules for a type: its own, and those of all types that begin alike."""
    rows = [row for name, row in _table().items() if _means(name, resource_type)]
    kept = ((),) if any(row.kept == "all" for row in rows) else _keys(path for row in rows for path in row.kept)
    return Rules(
        replaced=_keys(path for row in rows for path in row.replaced),
        lowered=_keys(path for row in rows for path in row.lowered),
        kept=kept,
        renewed=_keys(path for row in rows for path in row.renewed),
        renewing=_keys(row.renewing for row in rows if row.renewing),
    )


def touches(paths: Iterable[str], found: Found) -> bool:
    """Whether a change is of one of these properties, or of something within one or around one."""
    return _touched(_keys(paths), found)


@cache
def _table() -> dict[str, Row]:
    document: list[dict[str, Any]] = read_table(Path(__file__).with_name("replacements.yaml"))
    return {name: Row.model_validate(row) for part in document for name, row in part["types"].items()}


def _means(name: str, resource_type: str) -> bool:
    if not name.endswith("*"):
        return name == resource_type
    # A release is no object of Kubernetes, and has no metadata.
    return resource_type.startswith(name[:-1]) and resource_type != "kubernetes:helm.sh/v3:Release"


def _keys(paths: Iterable[str]) -> tuple[Keys, ...]:
    return tuple(tuple(path.split(".")) for path in paths)


def _touched(rules: Iterable[Keys], found: Found) -> bool:
    return any(_is_within(found.keys, rule) or _holds(found, rule) for rule in rules)


def _is_within(keys: Keys, rule: Keys) -> bool:
    return keys[: len(rule)] == rule


def _holds(found: Found, rule: Keys) -> bool:
    """Whether what came or went as a whole has such a property in it."""
    rest = rule[len(found.keys) :]
    return rule[: len(found.keys)] == found.keys and any(_has(value, rest) for value in (found.old, found.new))


def _value(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _has(value: Any, keys: Keys) -> bool:
    if isinstance(value, list):
        return any(_has(entry, keys) for entry in value)
    if not keys:
        return value is not None
    return isinstance(value, dict) and keys[0] in value and _has(value[keys[0]], keys[1:])


def _is_lower(version: Any, than: Any) -> bool:
    """Whether one version lies below another; False where one is not known yet."""
    new, old = (_order(value) for value in (version, than))
    return bool(new and old) and new < old


def _order(version: Any) -> tuple[int, ...]:
    text = str(version)
    return tuple(map(int, re.findall(r"\d+", text))) if re.match(r"v?\d", text) else ()
