"""How much of a difference is told, so that it fits in a comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Entry = TypeVar("Entry")


class Level(NamedTuple):
    """The most that is listed one by one: nodes of a rail, lines of a text, properties, names, and groups of resources.

    None is all of them. `summarised` says what is counted instead.
    """

    nodes: int | None
    lines: int | None
    properties: int | None
    names: int | None
    groups: int | None
    summarised: str


LEVELS = (
    Level(None, None, None, None, None, ""),
    Level(4, None, None, None, None, "addresses of a rail beyond 4 nodes"),
    Level(2, 20, 40, 40, None, "addresses, long texts and long lists"),
    Level(1, 0, 10, 8, 100, "addresses, texts, properties and long lists"),
    Level(0, 0, 3, 4, 40, "addresses, texts, most properties and most names"),
    Level(0, 0, 0, 2, 20, "addresses, texts, all properties and most names"),
    Level(0, 0, 0, 0, 8, "everything but numbers"),
)
"""From all to nothing but numbers; the last is short whatever a plan holds."""


def first(entries: Sequence[Entry], most: int | None) -> tuple[Sequence[Entry], int]:
    """The entries that are listed, and the number of those that are not."""
    shown = entries if most is None else entries[:most]
    return shown, len(entries) - len(shown)
