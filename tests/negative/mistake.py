"""A mistake, a kind of mistake, and the commonest ways to make one: a wrong value, a misspelt key, a missing one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from negative.base import Base, parent, parts, sibling


class Mistake(NamedTuple):
    """One wrong stack: the places to change in a good one (`None` takes a place out), and the place of the finding."""

    changes: Mapping[str, Any]
    path: str

    def __str__(self) -> str:
        said = [f"{place}: {_short(value)}" for place, value in self.changes.items() if value is not None]
        return ", ".join(said + [f"without {place}" for place, value in self.changes.items() if value is None])


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 120 else f"{text[:60]} … {text[-55:]}"


Mistakes = Callable[[Base], Iterator[Mistake]]
"""The mistakes of one kind that can be made in a stack; none where it does not apply."""

Applies = Callable[[Base], bool]


class Kind(NamedTuple):
    """A kind of mistake: what is wrong, the rule that must say so, the mistakes, and how many are made at most."""

    name: str
    rule: str
    mistakes: Mistakes
    most: int = 10


def anywhere(_base: Base) -> bool:
    """Every stack."""
    return True


def provided_by(*providers: str) -> Applies:
    """Stacks of a provider."""
    return lambda base: base.provider in providers


def with_addresses(base: Base) -> bool:
    """Stacks whose fabric has addresses of its own."""
    return base.layout != "none"


def written(place: str, *values: Any, where: Applies = anywhere) -> Mistakes:
    """Each of the values in turn at a place."""

    def made(base: Base) -> Iterator[Mistake]:
        if where(base):
            yield from (Mistake({place: value}, place) for value in values)

    return made


def written_below(place: str, below: str, *values: Any, where: Applies = anywhere) -> Mistakes:
    """Each of the values in turn at a place, which are faulty only at a place below it."""

    def made(base: Base) -> Iterator[Mistake]:
        if where(base):
            yield from (Mistake({place: value}, f"{place}{below}") for value in values)

    return made


def misspelt(place: str, *spellings: str) -> Mistakes:
    """A key that is there, under other names."""

    def made(base: Base) -> Iterator[Mistake]:
        if base.has(place):
            for spelling in spellings:
                wrong = sibling(place, spelling)
                yield Mistake({wrong: base.at(place), place: None}, wrong)

    return made


def missing(*places: str) -> Mistakes:
    """A required key that is taken out."""

    def made(base: Base) -> Iterator[Mistake]:
        yield from (Mistake({place: None}, place) for place in places if base.has(place))

    return made


def empty(*places: str) -> Mistakes:
    """A key that is written without a value, which YAML reads as null."""

    def made(base: Base) -> Iterator[Mistake]:
        for place in places:
            holder, key = parent(place), str(parts(place)[-1])
            if base.has(place):
                yield Mistake({holder: {**base.at(holder), key: None}}, place)

    return made


def together(*ways: Mistakes) -> Mistakes:
    """Several ways to make the same kind of mistake."""

    def made(base: Base) -> Iterator[Mistake]:
        for way in ways:
            yield from way(base)

    return made
