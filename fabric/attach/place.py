"""A place in a manifest: a mapping, the path that leads to it, and where to say what is found there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric.attach.problem import Note, Problem

Tree = dict[str, Any]


@dataclass
class Said:
    """What has been found so far, in the order of the input."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


class Malformed(Exception):
    """A document is not built as its kind demands; the rest of it cannot be judged."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


@dataclass(frozen=True)
class Place:
    """A mapping that is changed in place; `document` counts from 1."""

    content: Tree
    path: str
    document: int
    said: Said

    def refuse(self, rule: str, key: str, message: str, remedy: str) -> None:
        """Record that a key of this mapping breaks a rule; an empty key is the mapping itself."""
        self.said.problems.append(Problem(rule, self.document, self.under(key), message, remedy))

    def note(self, rule: str, key: str, message: str) -> None:
        """Record what should be known about a key of this mapping."""
        self.said.notes.append(Note(rule, self.document, self.under(key), message))

    def under(self, key: str) -> str:
        """The path of a key of this mapping."""
        if not key:
            return self.path
        shown = f"[{key}]" if "/" in key else key
        return shown if not self.path else f"{self.path}{'' if shown.startswith('[') else '.'}{shown}"

    def found(self, key: str) -> Place | None:
        """The mapping at a key, or None where there is nothing.

        Raises:
            Malformed: something else is there.
        """
        value = self.content.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._malformed(key, "a mapping")
        return Place(value, self.under(key), self.document, self.said)

    def made(self, key: str) -> Place:
        """The mapping at a key, made where there is nothing."""
        there = self.found(key)
        if there is not None:
            return there
        self.content[key] = {}
        return Place(self.content[key], self.under(key), self.document, self.said)

    def entries(self, key: str) -> list[Place]:
        """The mappings in the list at a key; empty where there is none.

        Raises:
            Malformed: something else is there.
        """
        return list(self._mappings(key, self.values(key)))

    def values(self, key: str) -> list[Any]:
        """The list at a key; a new one where there is none, which is then no part of the manifest.

        Raises:
            Malformed: something else is there.
        """
        value = self.content.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._malformed(key, "a list")
        return value

    def append(self, key: str, *entries: Any) -> None:
        """Put entries at the end of the list at a key."""
        if entries:
            self.content[key] = [*self.values(key), *entries]

    def text(self, key: str) -> str | None:
        """The text at a key, or None where there is nothing.

        Raises:
            Malformed: something else is there.
        """
        value = self.content.get(key)
        if value is not None and not isinstance(value, str):
            raise self._malformed(key, "text")
        return value

    def keep_or_set(self, key: str, wanted: Any, whose: str = "the fabric's") -> None:
        """Set a key unless it is set; another value stays, and is said. Mappings are gone through key by key."""
        there = self.content.get(key)
        if there is None:
            self.content[key] = copied(wanted)
        elif isinstance(there, dict) and isinstance(wanted, Mapping):
            inner = self.made(key)
            for name, value in wanted.items():
                inner.keep_or_set(name, value, whose)
        elif not _same(there, wanted):
            self.note("ATT051", key, f"keeps {shown(there)}; {whose} value is {shown(wanted)}")

    def _mappings(self, key: str, values: Sequence[Any]) -> Iterator[Place]:
        for index, value in enumerate(values):
            where = f"{self.under(key)}[{index}]"
            if not isinstance(value, dict):
                raise Malformed(Problem("ATT008", self.document, where, "must be a mapping", "correct it"))
            yield Place(value, where, self.document, self.said)

    def _malformed(self, key: str, wanted: str) -> Malformed:
        remedy = "correct it, or leave it out"
        return Malformed(Problem("ATT008", self.document, self.under(key), f"must be {wanted}", remedy))


def copied(value: Any) -> Any:
    """A copy whose mappings and lists are its own; what they hold in the end is shared."""
    if isinstance(value, Mapping):
        return {key: copied(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(inner) for inner in value]
    return value


def shown(value: Any) -> str:
    """A value as it is said to a user: short, and nothing of what is no plain value."""
    if not isinstance(value, str | int | float | bool):
        return "what it has"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same and of one kind: Python takes true for 1."""
    result = one == other
    return result is True and isinstance(one, bool) == isinstance(other, bool)
