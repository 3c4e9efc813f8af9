"""A place in a manifest: a mapping with its path, and what is found in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gpu_fabric.findings import Finding, finding
from gpu_fabric.findings.finding import refusal

Tree = dict[str, Any]
_T = TypeVar("_T")

Said = list[Finding]
"""What is found in the input, in its order: errors, for which nothing is attached, and notes."""


class AttachError(Exception):
    """The fabric cannot be attached. `problems` lists every reason; nothing was changed."""

    def __init__(self, problems: Sequence[Finding]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.explanation("manifests"))

    def explanation(self, file: str, done: str = "attached") -> str:
        """All problems as text: a line for the file, then each problem's place, message and remedy."""
        return refusal(self.problems, file, done)


class Malformed(Exception):
    """A document does not have the structure of its kind; the rest of it cannot be checked."""

    def __init__(self, document: int, path: str, message: str, remedy: str, rule: str = "ATT008") -> None:
        self.finding = finding(rule, path, message, remedy, document=document)
        super().__init__(message)


@dataclass(frozen=True)
class Place:
    """A mapping that is edited in place; `document` counts from 1.

    Methods raise Malformed if a value at a key, or an entry of a list, has another type than they return.
    """

    content: Tree
    path: str
    document: int
    said: Said

    def refuse(self, rule: str, key: str, message: str, remedy: str) -> None:
        """Record that a key of this mapping breaks a rule; an empty key means the mapping itself."""
        self.said.append(finding(rule, self.under(key), message, remedy, document=self.document))

    def note(self, rule: str, key: str, message: str) -> None:
        """Record a note about a key of this mapping."""
        self.refuse(rule, key, message, "")

    def under(self, key: str) -> str:
        """The path of a key of this mapping."""
        if not key:
            return self.path
        shown = f"[{key}]" if "/" in key else key
        return shown if not self.path else f"{self.path}{'' if shown.startswith('[') else '.'}{shown}"

    def found(self, key: str) -> Place | None:
        """The mapping at a key, or None if the key is unset."""
        value = self._value_of_type(key, dict, "a mapping")
        return None if value is None else Place(value, self.under(key), self.document, self.said)

    def made(self, key: str) -> Place:
        """The mapping at a key; it is created if the key is unset."""
        there = self.found(key)
        if there is not None:
            return there
        self.content[key] = {}
        return Place(self.content[key], self.under(key), self.document, self.said)

    def seen(self, key: str) -> Place:
        """The mapping at a key; if the key is unset, an empty one that is not part of the manifest."""
        return self.found(key) or Place({}, self.under(key), self.document, self.said)

    def entries(self, key: str) -> list[Place]:
        """The mappings in the list at a key; empty if the key is unset.

        Raises:
            Malformed: it is not a list, or has other entries.
        """
        found = []
        for index, value in enumerate(self.values(key)):
            where = f"{self.under(key)}[{index}]"
            if not isinstance(value, dict):
                raise Malformed(self.document, where, "must be a mapping", "correct it")
            found.append(Place(value, where, self.document, self.said))
        return found

    def values(self, key: str) -> list[Any]:
        """The list at a key; if the key is unset, an empty one that is not part of the manifest."""
        return self._value_of_type(key, list, "a list") or []

    def append(self, key: str, *entries: Any) -> None:
        """Append entries to the list at a key."""
        if entries:
            self.content[key] = [*self.values(key), *entries]

    def value(self, key: str) -> Any:
        """The value at a key; None if it is unset."""
        return self.content.get(key)

    @property
    def name(self) -> str:
        """The name of a container."""
        return str(self.content.get("name", "(without a name)"))

    def text(self, key: str) -> str | None:
        """The text at a key, or None if the key is unset."""
        return self._value_of_type(key, str, "text")

    def keep_or_set(self, key: str, wanted: Any, whose: str = "the fabric's") -> None:
        """Set a key unless it is set; a different value stays and is noted. Mappings are merged key by key."""
        there = self.content.get(key)
        if there is None:
            self.content[key] = deep_copy(wanted)
        elif isinstance(there, dict) and isinstance(wanted, Mapping):
            inner = self.made(key)
            for name, value in wanted.items():
                inner.keep_or_set(name, value, whose)
        elif not _is_same(there, wanted):
            self.note("ATT051", key, f"keeps {display(there)}; {whose} value is {display(wanted)}")

    def _value_of_type(self, key: str, required: type[_T], name: str) -> _T | None:
        value = self.content.get(key)
        if value is None or isinstance(value, required):
            return value
        raise Malformed(self.document, self.under(key), f"must be {name}", "correct it, or leave it out")


def deep_copy(value: Any) -> Any:
    """A copy with mappings and lists of its own; scalar values are shared."""
    if isinstance(value, Mapping):
        return {key: deep_copy(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [deep_copy(inner) for inner in value]
    return value


def display(value: Any) -> str:
    """A value for a message: shortened, and without the content of mappings and lists."""
    if not isinstance(value, str | int | float | bool):
        return "what it has"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and both or neither are booleans: in Python, True equals 1."""
    result = one == other
    return result is True and isinstance(one, bool) == isinstance(other, bool)
