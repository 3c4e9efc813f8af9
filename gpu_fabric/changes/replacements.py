"""The changes that force a replacement; the facts are in `replacements.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from gpu_fabric.base.yaml_files import read_table
from gpu_fabric.changes.properties import Difference
from gpu_fabric.model import FrozenModel

Keys = tuple[str, ...]
_NO_DEFAULT = object()


class Row(FrozenModel):
    """A row of the table, for one type or for all types with a common start."""

    replaced: tuple[str, ...]
    lowered: tuple[str, ...] = ()
    kept: tuple[str, ...] | Literal["all"] = ()
    dropped: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    defaults: dict[str, JsonValue] = {}
    renewed: tuple[str, ...] = ()
    renewing: str = ""


class Rules(NamedTuple):
    """The rules for one type, with split paths."""

    replaced: tuple[Keys, ...]
    lowered: tuple[Keys, ...]
    kept: tuple[Keys, ...]
    dropped: tuple[Keys, ...]
    maps: frozenset[str]
    defaults: Mapping[Keys, JsonValue]
    renewed: tuple[Keys, ...]
    renewing: tuple[Keys, ...]

    def forces(self, found: Difference) -> bool:
        """Whether a change cannot be made in place."""
        if found.kind == "removed" and _touched(self.kept, found) and not self._is_dropped(found):
            return False
        # An added or removed property has a value on one side only.
        if found.kind != "changed" and self.defaults.get(found.keys, _NO_DEFAULT) in (found.old, found.new):
            return False
        return _touched(self.replaced, found) or (_touched(self.lowered, found) and _is_lower(found.new, found.old))

    def _is_dropped(self, found: Difference) -> bool:
        """Whether removing it from the program has an effect: on a list's entry, a map's key, or a listed property."""
        is_entry = found.path.endswith("]")
        return is_entry or _touched(self.dropped, found) or not self.maps.isdisjoint(found.keys[:-1])

    def renews(self, found: Difference, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether a change in place renews the machines; takes the resource's properties before and after."""
        # A property that the program no longer sets keeps its value.
        on = (_value(new, keys) if _has(new, keys) else _value(old, keys) for keys in self.renewing)
        return _touched(self.renewed, found) and (any(on) or not self.renewing)


@cache
def rules_of(resource_type: str) -> Rules:
    """The rules of a type: its own row, and the rows of types with a common start."""
    rows = [row for name, row in _table().items() if _matches(name, resource_type)]
    kept = ((),) if any(row.kept == "all" for row in rows) else _keys(path for row in rows for path in row.kept)
    return Rules(
        replaced=_keys(path for row in rows for path in row.replaced),
        lowered=_keys(path for row in rows for path in row.lowered),
        kept=kept,
        dropped=_keys(path for row in rows for path in row.dropped),
        maps=frozenset(name for row in rows for name in row.maps),
        defaults={tuple(path.split(".")): value for row in rows for path, value in row.defaults.items()},
        renewed=_keys(path for row in rows for path in row.renewed),
        renewing=_keys(row.renewing for row in rows if row.renewing),
    )


def touches(paths: Iterable[str], found: Difference) -> bool:
    """Whether a change is of one of these properties, within one, or around one."""
    return _touched(_keys(paths), found)


@cache
def _table() -> dict[str, Row]:
    document: list[dict[str, Any]] = read_table(Path(__file__).with_name("replacements.yaml"))
    return {name: Row.model_validate(row) for part in document for name, row in part["types"].items()}


def _matches(name: str, resource_type: str) -> bool:
    if not name.endswith("*"):
        return name == resource_type
    # A Helm release is not a Kubernetes object and has no metadata.
    return resource_type.startswith(name[:-1]) and resource_type != "kubernetes:helm.sh/v3:Release"


def _keys(paths: Iterable[str]) -> tuple[Keys, ...]:
    return tuple(tuple(path.split(".")) for path in paths)


def _touched(rules: Iterable[Keys], found: Difference) -> bool:
    return any(_is_within(found.keys, rule) or _holds(found, rule) for rule in rules)


def _is_within(keys: Keys, rule: Keys) -> bool:
    return keys[: len(rule)] == rule


def _holds(found: Difference, rule: Keys) -> bool:
    """Whether a part that was added or removed as a whole contains such a property."""
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
    """Whether a version is lower than another; False where one is not known yet."""
    new, old = (_order(value) for value in (version, than))
    return bool(new and old) and new < old


def _order(version: Any) -> tuple[int, ...]:
    text = str(version)
    return tuple(map(int, re.findall(r"\d+", text))) if re.match(r"v?\d", text) else ()
