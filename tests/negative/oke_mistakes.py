"""Ways to make mistakes in stacks on Oracle's cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Applies, Mistake, Mistakes, provided_by, written, written_below

POOL = "cluster.pools[0]"
on_oke = provided_by("oke")


def joining(base: Base) -> bool:
    """Stacks on Oracle's clouds whose machines join by themselves."""
    return on_oke(base) and base.at(f"{POOL}.placement") != "compute-cluster"


def at(place: str, *values: Any) -> Mistakes:
    """Each of the values in turn at a place of a stack on Oracle's cloud."""
    return written(place, *values, where=on_oke)


def below(place: str, end: str, *values: Any) -> Mistakes:
    """The same, where what is faulty lies below the place."""
    return written_below(place, end, *values, where=on_oke)


def changed_keys(path: str, changes: dict[str, Any], where: Applies = on_oke) -> Mistakes:
    """Several keys of the file that make one mistake."""

    def made(base: Base) -> Iterator[Mistake]:
        if where(base):
            yield Mistake(changes, path)

    return made
