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

from sandbox.cloud.wire import UNKNOWN, Properties, has_unknown

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

    `given` says whether a program may, must or cannot set it. `computed`: the cloud gives a value where the program
    gives none. `check` gives the reason why a value is wrong, or None. `same` compares two values that are there.
    """

    kind: Kind
    given: Literal["required", "optional", "never"] = "optional"
    computed: bool = False
    default: Any = None
    replaces: bool = False
    unordered: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    check: Callable[[Any], str | None] | None = None
    same: Callable[[Any, Any], bool] | None = None


Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Change:
    """How one property differs from the state; `replaces` where the resource must be made anew for it."""

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
        if each.given == "never":
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
            found[path] = Change(kind, each.replaces)
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
    """The inputs that a state stands for: those given before with their present values, or all when imported."""
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
    """The changes less those that the program wants ignored, by path; a path stands for everything below it."""
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


def _same(each: Field, old: Any, new: Any) -> bool:
    if has_unknown(new):
        return False
    if each.kind == "object":
        # a block that is there differs from none, even where it only says what holds without it
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
