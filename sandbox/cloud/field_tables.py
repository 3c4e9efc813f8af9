"""The inputs and outputs of a cloud's resource types, from tables in YAML.

A type is listed by Pulumi's token, with the properties that can be `given` and the cloud's own `outputs`. A property is
its kind (see schema.py) and words; one with parts has these in `is`, next to the parts. An `updatable` property changes
in place, any other one replaces the resource. An optional input that the program drops keeps its value, unless it is
`plain`. A `set` has no order; texts that are `caseless` are equal but for upper and lower case. An `output` cannot be
given; a part that is `never` given is not among the inputs. `default:` is the value of an omitted input as JSON, and
`but:` lists the inputs that exclude each other. What a value must be: `among:` these words in upper or lower case,
`one-of:` these words as they are, `not-empty`, `cidr`, `tags`, `at-least:` this number, `at-most:` so many characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from .schema import Field, Fields

_Check = Callable[[Any], str | None]

# A default may have blanks within its quotes.
_WORD = re.compile(r'(?:"[^"]*"|\S)+')
_TAG = re.compile(r"[a-zA-Z0-9:_-]{1,255}")


class FieldTables:
    """The resource types of a folder's tables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fields: dict[str, Fields] = {}

    @cached_property
    def _types(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """Token and table of each type, by the last part of its token, such as Vcn."""
        tables = (read_table(file) for file in sorted(self._folder.glob("*.yaml")))
        return {token.rpartition(":")[2]: (token, row) for table in tables for token, row in table.items()}

    def kinds(self) -> tuple[str, ...]:
        """The resource types, each by the last part of its token."""
        return tuple(self._types)

    def token_of(self, kind: str) -> str:
        """Pulumi's token of a resource type."""
        return self._types[kind][0]

    def fields_of(self, kind: str) -> Fields:
        """The fields of a resource type."""
        if kind not in self._fields:
            table = self._types[kind][1]
            given = {name: _field(content, updatable=True) for name, content in table["given"].items()}
            self._fields[kind] = given | {name: Field("string", given="never") for name in table["outputs"]}
        return self._fields[kind]


def _field(content: str | Mapping[str, Any], *, updatable: bool) -> Field:
    described: Mapping[str, Any] = {"is": content} if isinstance(content, str) else content
    kind, *words = _WORD.findall(described["is"])
    settings = {name: value for name, _, value in (word.partition(":") for word in words)}
    # a part of what is for life is for life
    updatable = updatable and "updatable" in settings
    required, default = "required" in settings, json.loads(settings.get("default", "null"))
    checks = [_CHECKS[name](value) for name, value in settings.items() if name in _CHECKS]
    return Field(
        kind,
        given="required" if required else "never" if "never" in settings else "optional",
        computed=not required and "plain" not in settings and default is None,
        default=default,
        replaces=not updatable,
        unordered="set" in settings,
        shown="output" in settings,
        conflicts=tuple(_listed(settings.get("but", ""))),
        check=_all_of(checks) if checks else None,
        same=_same_text if "caseless" in settings else None,
        fields={name: _field(part, updatable=updatable) for name, part in described.items() if name != "is"},
    )


def _listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _all_of(checks: Iterable[_Check]) -> _Check:
    return lambda value: next(filter(None, (check(value) for check in checks)), None)


def _same_text(old: str, new: str) -> bool:
    return old.lower() == new.lower()


def _one_of(text: str, *, ignore_case: bool) -> _Check:
    def check(value: str) -> str | None:
        known = text.lower() if ignore_case else text
        found = (value.lower() if ignore_case else value) in _listed(known)
        return None if found else f"expected one of {', '.join(_listed(text))}, got {value}"

    return check


def _is_cidr(value: str) -> str | None:
    try:
        ip_network(value, strict=False)
    except ValueError:
        return f"expected {value!r} to be a valid CIDR value"
    return None if "/" in value else f"expected {value!r} to be a valid CIDR value"


def _are_tags(values: list[Any]) -> str | None:
    wrong = [value for value in values if not (isinstance(value, str) and _TAG.fullmatch(value))]
    if not wrong:
        return None
    return f"tag {wrong[0]!r}: tags may only contain letters, numbers, colons, dashes, and underscores (1 to 255)"


_CHECKS: Mapping[str, Callable[[str], _Check]] = {
    "among": lambda text: _one_of(text, ignore_case=True),
    "one-of": lambda text: _one_of(text, ignore_case=False),
    "not-empty": lambda _: lambda value: None if value else "expected a value that is not empty",
    "cidr": lambda _: _is_cidr,
    "tags": lambda _: _are_tags,
    "at-least": lambda text: (
        lambda value: None if value >= int(text) else f"expected to be at least {text}, got {value}"
    ),
    "at-most": lambda text: (
        lambda value: None if len(value) <= int(text) else f"expected length to be at most {text}, got {len(value)}"
    ),
}
"""Gives the check that a word asks for, by what is behind its colon."""
