"""Compute what was added to a manifest by comparing it with the original, and remove it again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_fabric.attach.networks import network_names, without_networks
from gpu_fabric.k8s.cni import NETWORKS_ANNOTATION

STAMP = "gpu-fabric.dev/attached"
"""The annotation of a pod template that records what `attach` added to it."""

Unit = tuple[str, str]

# Lists whose entries are matched by these keys and merged; an entry of any other list is added or removed as a whole.
_NAMES = ("manager", "name", "groupName")
_GONE_THROUGH = frozenset({"runtimePatches", "replicatedJobs", "containers"})
_NOTHING: Any = object()


@dataclass(frozen=True)
class Added:
    """The additions: `new` are keys of mappings and entries of lists, by the JSON-pointer-like path of their parent.

    `changed` are pairs of old and new values; `empty` are the paths of values that were null before.
    """

    new: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, list[Any]] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.new or self.changed)

    def below(self, pointer: str) -> Added:
        """The additions at and below a path, with paths relative to it."""
        return self._where(lambda here: _is_within(here, pointer), len(pointer))

    def outside(self, pointers: Sequence[str]) -> Added:
        """The additions that are not at or below any of the paths."""
        return self._where(lambda here: not any(_is_within(here, pointer) for pointer in pointers))

    def _where(self, keeps: Callable[[str], bool], start: int = 0) -> Added:
        return Added(
            {here[start:]: value for here, value in self.new.items() if keeps(here)},
            {here[start:]: value for here, value in self.changed.items() if keeps(here)},
            [here[start:] for here in self.empty if keeps(here)],
        )

    def names(self) -> list[str]:
        """The name of each addition, in order."""
        return [name for pointer, value in self.new.items() for name in _names(value, pointer)]

    def without(self, other: Added) -> Added:
        """The additions that `other` does not contain."""
        kept = Counter(unit for pointer, value in other.new.items() for unit in _units(value, pointer))
        new = {pointer: _rest(value, pointer, kept) for pointer, value in self.new.items()}
        changed = {here: pair for here, pair in self.changed.items() if other.changed.get(here) != pair}
        return Added({pointer: value for pointer, value in new.items() if value is not _NOTHING}, changed, self.empty)


def difference(before: Any, after: Any) -> Added:
    """The additions that turn `before` into `after`."""
    found = Added()
    _compare(before, after, "", found)
    return found


def take_out(content: Any, added: Added) -> None:
    """Remove from `content`, in place, the additions that are unchanged since; everything else stays."""
    for pointer, (was, now) in added.changed.items():
        outer, _, last = pointer.rpartition("/")
        holder, key = _found(content, outer), _plain(last)
        if isinstance(holder, dict) and key in holder:
            if holder[key] == now:
                holder[key] = was
            elif key == NETWORKS_ANNOTATION and isinstance(now, str) and isinstance(holder[key], str):
                holder[key] = without_networks(holder[key], now, was) or was
    for pointer, new in added.new.items():
        here = _found(content, pointer)
        if here is not None:
            _left(here, new, pointer, frozenset(added.empty))


def pointer_to(content: Any, part: Any, pointer: str = "") -> str | None:
    """The path of a mapping inside a content; None if the content does not contain it."""
    if content is part:
        return pointer
    found = (pointer_to(inner, part, here) for here, inner in _inside(content, pointer))
    return next((here for here in found if here is not None), None)


def _is_within(here: str, pointer: str) -> bool:
    return here == pointer or here.startswith(f"{pointer}/")


def _compare(before: Any, after: Any, pointer: str, found: Added) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        new = {}
        for key, value in after.items():
            here = f"{pointer}/{_step(key)}"
            if key not in before or (before[key] is None and value is not None):
                new[key] = value
                found.empty.extend([here] if key in before else [])
            else:
                _compare(before[key], value, here, found)
        if new:
            found.new[pointer] = new
    elif isinstance(before, list) and isinstance(after, list):
        for old, (here, value) in zip(before, _inside(after, pointer), strict=False):
            _compare(old, value, here, found)
        if len(after) > len(before):
            found.new[pointer] = after[len(before) :]
    elif before != after:
        found.changed[pointer] = [before, after]


def _left(present: Any, new: Any, pointer: str, empty: frozenset[str]) -> Any:
    """The rest of a value without the additions `new`; mappings and lists are edited in place."""
    if isinstance(present, dict) and isinstance(new, dict):
        for key, value in new.items():
            here = f"{pointer}/{_step(key)}"
            if key in present:
                left = _left(present[key], value, here, empty)
                if left is not _NOTHING:
                    present[key] = left
                elif here in empty:
                    present[key] = None
                else:
                    del present[key]
        return present or _NOTHING
    if isinstance(present, list) and isinstance(new, list):
        for entry in new:
            if _is_gone_through(pointer):
                _take_entry(present, entry, pointer, empty)
            elif entry in present:
                present.remove(entry)
        return present or _NOTHING
    if pointer.endswith(_STAMP):
        return _NOTHING
    if pointer.endswith(_NETWORKS) and isinstance(present, str) and isinstance(new, str):
        rest = without_networks(present, new)
        return _NOTHING if rest is None else rest
    return _NOTHING if present == new else present


def _take_entry(present: list[Any], new: dict[str, Any], pointer: str, empty: frozenset[str]) -> None:
    names = _own_names(new)
    for entry in present:
        if isinstance(entry, dict) and names and _own_names(entry) == names:
            for key in names:
                del entry[key]
            rest = {key: value for key, value in new.items() if key not in names}
            if _left(entry, rest, _of_entry(pointer, new), empty) is _NOTHING:
                present.remove(entry)
            else:
                entry.update(names)
            return


def _units(value: Any, pointer: str) -> Iterator[Unit]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _units(inner, f"{pointer}/{_step(key)}")
    elif isinstance(value, list):
        for entry in value:
            if _is_gone_through(pointer):
                yield from _units(entry, _of_entry(pointer, entry))
            else:
                yield pointer, json.dumps(entry, sort_keys=True)
    else:
        yield pointer, json.dumps(value)


def _rest(value: Any, pointer: str, kept: Counter[Unit]) -> Any:
    """The part of an addition that is not kept. A mapping is always returned: it may become empty and be removed."""
    if isinstance(value, dict):
        inner = {key: _rest(part, f"{pointer}/{_step(key)}", kept) for key, part in value.items()}
        return {key: part for key, part in inner.items() if part is not _NOTHING}
    if isinstance(value, list):
        if _is_gone_through(pointer):
            return [_rest(one, _of_entry(pointer, one), kept) | _own_names(one) for one in value]
        return [entry for entry in value if not _is_kept((pointer, json.dumps(entry, sort_keys=True)), kept)]
    return _NOTHING if _is_kept((pointer, json.dumps(value)), kept) else value


def _is_kept(unit: Unit, kept: Counter[Unit]) -> bool:
    kept[unit] -= 1
    return kept[unit] >= 0


def _names(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield from _names(inner, f"{pointer}/{_step(key)}")
            elif key not in (*_NAMES, STAMP, NETWORKS_ANNOTATION):
                yield str(key)
            elif key == NETWORKS_ANNOTATION:
                yield from (f"network {name}" for name in network_names(str(inner)))
    elif isinstance(value, list):
        for entry in value:
            if _is_gone_through(pointer):
                yield from _names(entry, pointer)
            else:
                own = entry if isinstance(entry, dict) else {}
                yield str(own.get("mountPath") or own.get("name") or own.get("key") or entry)


def _found(content: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        content = next((inner for here, inner in _inside(content, "") if here == f"/{step}"), None)
    return content


def _inside(content: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """The values in a mapping or list with their paths; a list entry is addressed by its name if that is unique."""
    if isinstance(content, Mapping):
        for key, inner in content.items():
            yield f"{pointer}/{_step(key)}", inner
    elif isinstance(content, list):
        names = [next(iter(_own_names(entry).values()), None) for entry in content]
        for number, (name, entry) in enumerate(zip(names, content, strict=True)):
            alone = name is not None and names.count(name) == 1
            yield f"{pointer}/{_step(name if alone else number)}", entry


def _own_names(entry: Any) -> dict[str, str]:
    own = entry if isinstance(entry, dict) else {}
    return {key: own[key] for key in _NAMES if isinstance(own.get(key), str)}


def _of_entry(pointer: str, entry: Any) -> str:
    return f"{pointer}/{_step(next(iter(_own_names(entry).values()), ''))}"


def _is_gone_through(pointer: str) -> bool:
    return pointer.rpartition("/")[2] in _GONE_THROUGH


def _step(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


_NETWORKS, _STAMP = f"/{_step(NETWORKS_ANNOTATION)}", f"/{_step(STAMP)}"


def _plain(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
