"""How two values differ, property by property, and which differences force a replacement (`replacements.yaml`)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.base.tables import read_table
from gpu_fabric.model import FrozenModel

if TYPE_CHECKING:
    from gpu_fabric.changes.model import Change

NAMING = ("name", "key", "resourceName")
"""The keys that identify the entries of a list."""

OUTPUT = re.compile(r"<output ([^>]+)\.[^.>]+>")
"""The text that stands in a property for another resource's output; it captures that resource's name."""


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
        # Here, since the record of a run reports none.
        from gpu_fabric.changes.model import Change

        return Change(path=self.path, kind=self.kind, old=self.old, new=self.new, forces=forces, renews=renews)


def differences(old: Any, new: Any, keys: Keys = (), path: str = "") -> Iterator[Difference]:
    """Compare two values, and yield every property that differs, sorted by name; JSON within text is compared too."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _entry(old, new, key, (*keys, key), _join_path(path, key))
        return
    if isinstance(old, list) and isinstance(new, list) and _is_deep(old) and _is_deep(new):
        before, after = _index_by_name(old), _index_by_name(new)
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


def _join_path(path: str, key: str) -> str:
    if not re.fullmatch(r"[\w-]+", key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _is_deep(entries: list[Any]) -> bool:
    return any(isinstance(entry, dict | list) for entry in entries)


def _index_by_name(entries: list[Any]) -> dict[str, Any] | None:
    """Entries by the key that identifies them; None where there is no such key."""
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
    """Split a dotted path; `*` leads to every property."""
    return () if path == "*" else tuple(path.split("."))


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


def digest_long_texts(value: Any) -> Any:
    """A value with digests in place of long texts."""
    if isinstance(value, dict):
        return {key: digest_long_texts(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [digest_long_texts(entry) for entry in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"<text {hashlib.sha256(value.encode()).hexdigest()[:16]}>"
    return value


def _named(entry: Any, part: Any) -> Any:
    names = {key: entry[key] for key in NAMING if key in entry} if isinstance(entry, dict) else {}
    return names | (part or {}) if isinstance(part, dict | None) else part


_NO_DEFAULT = object()


_Path = Annotated[Keys, BeforeValidator(lambda path: keys_of(path) if isinstance(path, str) else path)]


class Rules(FrozenModel):
    """The rules for one type, or those of a row of the table, which may be for all types with a common start."""

    replaced: tuple[_Path, ...]
    lowered: tuple[_Path, ...] = ()
    kept: tuple[_Path, ...] = ()
    dropped: tuple[_Path, ...] = ()
    maps: tuple[str, ...] = ()
    defaults: dict[_Path, JsonValue] = {}
    renewed: tuple[_Path, ...] = ()
    renewing: tuple[_Path, ...] = ()

    def forces(self, found: Difference) -> bool:
        """Whether a change cannot be made in place."""
        if found.kind == "removed" and _is_touched(self.kept, found) and not self._is_dropped(found):
            return False
        # An added or removed property has a value on one side only.
        if found.kind != "changed" and self.defaults.get(found.keys, _NO_DEFAULT) in (found.old, found.new):
            return False
        return _is_touched(self.replaced, found) or (
            _is_touched(self.lowered, found) and _is_lower(found.new, found.old)
        )

    def _is_dropped(self, found: Difference) -> bool:
        """Whether removing it from the program has an effect: on a list's entry, a map's key, or a listed property."""
        is_entry = found.path.endswith("]")
        return is_entry or _is_touched(self.dropped, found) or not set(self.maps).isdisjoint(found.keys[:-1])

    def renews(self, found: Difference, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether a change in place renews the machines; takes the resource's properties before and after."""
        # A property that the program no longer sets keeps its value.
        on = (field(new if _has(new, keys) else old, *keys) for keys in self.renewing)
        return _is_touched(self.renewed, found) and (any(on) or not self.renewing)


@cache
def rules_of(resource_type: str) -> Rules:
    """The rules of a type: its own row, and the rows of types with a common start."""
    rows = [row for name, row in _table().items() if _matches(name, resource_type)]
    paths = {
        field: [path for row in rows for path in getattr(row, field)]
        for field in Rules.model_fields
        if field != "defaults"
    }
    defaults = {path: value for row in rows for path, value in row.defaults.items()}
    return Rules.model_validate({**paths, "defaults": defaults})


def touches(paths: Iterable[str], found: Difference) -> bool:
    """Whether a change is of one of these properties, within one, or around one."""
    return _is_touched(map(keys_of, paths), found)


@cache
def _table() -> dict[str, Rules]:
    document: list[dict[str, Any]] = read_table(Path(__file__).with_name("replacements.yaml"))
    return {name: Rules.model_validate(row) for part in document for name, row in part["types"].items()}


def _matches(name: str, resource_type: str) -> bool:
    if not name.endswith("*"):
        return name == resource_type
    # A Helm release is not a Kubernetes object and has no metadata.
    return resource_type.startswith(name[:-1]) and resource_type != "kubernetes:helm.sh/v3:Release"


def _is_touched(rules: Iterable[Keys], found: Difference) -> bool:
    return any(found.keys[: len(rule)] == rule or _holds(found, rule) for rule in rules)


def _holds(found: Difference, rule: Keys) -> bool:
    """Whether a part that was added or removed as a whole contains such a property."""
    rest = rule[len(found.keys) :]
    return rule[: len(found.keys)] == found.keys and any(_has(value, rest) for value in (found.old, found.new))


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
    return tuple(map(int, re.findall(r"[0-9]+", text))) if re.match(r"v?[0-9]", text) else ()
