"""Values that must be unique, and which of those in the stack file are in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpu_fabric.spec.places import Location


class Stated(NamedTuple):
    """A value as the stack file states it: where, what, and whose."""

    place: Location
    value: str
    owner: str


class Clash(NamedTuple):
    """A stated value that another owner has."""

    stated: Stated
    other: str


def clashes(fixed: Mapping[str, str], stated: Iterable[Stated]) -> Iterator[Clash]:
    """Stated values that are in `fixed` (value to owner) or were stated before, in the order of the stack file."""
    owners = dict(fixed)
    for entry in stated:
        other = owners.setdefault(entry.value, entry.owner)
        if other != entry.owner:
            yield Clash(entry, other)
