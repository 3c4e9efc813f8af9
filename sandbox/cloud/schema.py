"""What a resource type takes and gives: checks, differences and planned values that follow from its fields alone.

The rules are those of Terraform's providers, which most Pulumi providers of clouds are made from: a new input is
compared with the state; an optional field that the cloud also computes keeps its value when the program drops it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .wire import UNKNOWN, Properties, has_unknown

Kind = Literal["string", "number", "bool", "strings", "map", "object", "objects"]
Failure = tuple[str, str]
"""A property's path and what is wrong with its value."""

_TYPES: dict[Kind, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "bool": (bool,),
    "strings": (list,),
    "map": (dict,),
    "object": (dict,),
    "objects": (list,),
}


@dataclass(frozen=True)
class Field:
    """One property of a resource type.

    `given`: whether a program may, must or cannot set it. `computed`: the cloud sets a value where the program sets
    none. `shown`: the package has it as an input, and the provider accepts no value. `check` returns the reason why a
    value is invalid, or None. `same` compares two existing values. `fields` are the parts of a block, or the keys of a
    map that have rules of their own.
    """

    kind: Kind
    given: Literal["required", "optional", "never"] = "optional"
    computed: bool = False
    default: Any = None
    replaces: bool = False
    unordered: bool = False
    shown: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    check: Callable[[Any], str | None] | None = None
    same: Callable[[Any, Any], bool] | None = None


Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Change:
    """How one property differs from the state; `replaces` where the change replaces the resource."""

    kind: Literal["add", "delete", "update"]
    replaces: bool


def failures(fields: Fields, news: Mapping[str, Any], prefix: str = "") -> list[Failure]:
    """What is wrong with new inputs, property by property; unknown values pass."""
    found: list[Failure] = []
    for name in news:
        if not name.startswith("__") and (name not in fields or fields[name].given == "never"):
            found.append((prefix + name, "no such input property"))
    for name, each in fields.items():
        path, value = prefix + name, news.get(name)
        if value is None:
            if each.given == "required":
                found.append((path, f"Missing required argument: {path}"))
        elif each.shown:
            found.append((path, "this is computed, and cannot be set"))
        elif value is not UNKNOWN:
            found += _value_failures(each, path, value)
            found += [
                (path, f"{path} conflicts with {prefix}{other}")
                for other in each.conflicts
                if news.get(other) is not None
            ]
    return found


def differences(
    fields: Fields, state: Mapping[str, Any], news: Mapping[str, Any], prefix: str = ""
) -> dict[str, Change]:
    """The properties in which new inputs differ from the state, by path."""
    found: dict[str, Change] = {}
    for name, each in fields.items():
        if each.given == "never" or each.shown:
            continue
        path, old, new = prefix + name, state.get(name), news.get(name)
        if new is None:
            if each.computed:
                continue
            new = each.default
        if each.kind == "object" and isinstance(old, dict) and isinstance(new, dict):
            found |= differences(each.fields, old, new, f"{path}.")
        elif (pairs := _pairs(each, old, new)) is not None:
            for index, (before, after) in enumerate(pairs):
                found |= differences(each.fields, before, after, f"{path}[{index}].")
        elif not _same(each, old, new):
            kind: Literal["add", "delete", "update"] = "add" if old is None else "delete" if new is None else "update"
            moved = _changed_keys(old, new) if each.kind == "map" else old if new is None else new
            found[path] = Change(kind, each.replaces or _holds_what_replaces(each, moved))
    return found


def with_defaults(fields: Fields, inputs: Mapping[str, Any]) -> Properties:
    """Inputs with what the provider fills in where the program gives nothing, at any depth."""
    found: Properties = {**{name: each.default for name, each in fields.items() if each.default is not None}, **inputs}
    for name, each in fields.items():
        value = found.get(name)
        if each.fields and isinstance(value, dict):
            found[name] = with_defaults(each.fields, value)
        elif each.fields and isinstance(value, list):
            found[name] = [with_defaults(each.fields, part) if isinstance(part, dict) else part for part in value]
    return found


def planned(fields: Fields, news: Mapping[str, Any], state: Mapping[str, Any] | None) -> Properties:
    """What is known before an update of the properties after it; `state` is None for a resource yet to be made."""
    outputs: Properties = {}
    for name, each in fields.items():
        new = news.get(name) if each.given != "never" else None
        old = None if state is None else state.get(name)
        if new is None and (each.computed or each.given == "never"):
            value = UNKNOWN if state is None else old
        elif new is None:
            value = each.default
        elif each.kind == "object" and isinstance(new, dict):
            value = planned(each.fields, new, None if state is None else old or {})
        elif (pairs := _pairs(each, new if state is None else old, new)) is not None:
            value = [planned(each.fields, asked, None if state is None else known) for known, asked in pairs]
        else:
            value = new
        if value is not None:
            outputs[name] = value
    return outputs


def inputs_of(fields: Fields, outputs: Mapping[str, Any], before: Mapping[str, Any] | None) -> Properties:
    """The inputs of a state: those given before with their present values, or all of an imported resource."""
    inputs: Properties = {}
    for name, each in fields.items():
        value = outputs.get(name)
        if each.given == "never" or (before is not None and name not in before):
            continue
        if each.kind == "object" and isinstance(value, dict):
            nested = None if before is None else before[name] if isinstance(before[name], dict) else {}
            inputs[name] = inputs_of(each.fields, value, nested)
        elif before is not None and (pairs := _pairs(each, before[name], value)) is not None:
            inputs[name] = [inputs_of(each.fields, present, given) for given, present in pairs]
        elif before is not None:
            inputs[name] = before[name] if _same(each, before[name], value) else value
        elif each.given == "required" or not (_blank(value) or value == each.default):
            inputs[name] = value
    if before is not None and "__defaults" in before:
        inputs["__defaults"] = before["__defaults"]
    return inputs


def replacing(changes: Mapping[str, Change]) -> list[str]:
    """The properties of the first level that make a replacement necessary, in their order."""
    return sorted({top_level(path) for path, change in changes.items() if change.replaces})


def top_level(path: str) -> str:
    """The property of the first level that a path begins with."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def without_ignored(changes: Mapping[str, Change], ignored: Iterable[str]) -> dict[str, Change]:
    """The changes without those of the paths in `ignoreChanges`; a path includes everything below it."""
    names = tuple(ignored)
    return {
        path: change
        for path, change in changes.items()
        if not any(path == name or path.startswith((f"{name}.", f"{name}[")) or name == "*" for name in names)
    }


def _value_failures(each: Field, path: str, value: Any) -> list[Failure]:
    wanted: Any = _TYPES[each.kind]
    if not isinstance(value, wanted) or (isinstance(value, bool) and each.kind == "number"):
        return [(path, f"expected {each.kind}, got {type(value).__name__}")]
    if each.kind == "object":
        return failures(each.fields, value, f"{path}.")
    if each.kind == "objects":
        parts = [(index, part) for index, part in enumerate(value) if isinstance(part, dict)]
        return [found for index, part in parts for found in failures(each.fields, part, f"{path}[{index}].")]
    reason = each.check(value) if each.check and not has_unknown(value) else None
    return [(path, reason)] if reason else []


def _pairs(each: Field, old: Any, new: Any) -> list[tuple[Properties, Properties]] | None:
    """The elements of two lists that are compared one by one, as the cloud puts something of its own into them."""
    if each.kind != "objects" or each.unordered or not (isinstance(old, list) and isinstance(new, list)):
        return None
    own = any(part.computed or part.given == "never" for part in each.fields.values())
    if not own or len(old) != len(new) or not all(isinstance(part, dict) for part in (*old, *new)):
        return None
    return list(zip(old, new, strict=True))


def _changed_keys(old: Any, new: Any) -> Properties:
    """The keys of a map that differ, with a value that they had or have."""
    before, after = old or {}, new or {}
    differing = (key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return {key: after.get(key) or before.get(key) for key in differing}


def _holds_what_replaces(each: Field, value: Any) -> bool:
    """Whether a block that is added or removed as a whole has a part that cannot change in place."""
    if each.kind not in ("object", "map") or not isinstance(value, dict):
        return False
    present = [(part, value[name]) for name, part in each.fields.items() if value.get(name) is not None]
    return any(part.replaces or _holds_what_replaces(part, inner) for part, inner in present)


def _same(each: Field, old: Any, new: Any) -> bool:
    if has_unknown(new):
        return False
    if each.kind == "object":
        # an existing block differs from a missing one, even where it only has default values
        return old is None and new is None
    if _blank(old) or _blank(new):
        return _blank(old) and _blank(new)
    if each.same:
        return each.same(old, new)
    if each.unordered:
        return sorted(map(_text, old)) == sorted(map(_text, new))
    return bool(old == new)


def _blank(value: Any) -> bool:
    # a zero value and an absent one are the same on the wire
    return value is None or value is False or value in ("", 0, [], {})


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
