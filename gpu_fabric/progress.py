"""What long work says of itself while it lasts: one step after another, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Receives the steps of some work and ignores them; a class that shows them derives from it."""

    def step(self, doing: str) -> None:
        """Hear what is being done from now on, such as "planning 8 nodes"."""

    def each(self, doing: str, things: Collection[T], named: str) -> Iterator[T]:
        """The things in order; before each a step says how far the work is: "rendering 3 of 42 resources"."""
        for number, thing in enumerate(things, 1):
            self.step(f"{doing} {number:,} of {len(things):,} {named}")
            yield thing


NO_PROGRESS = Progress()
"""For work without a display."""
