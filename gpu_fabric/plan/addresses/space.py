"""Sets of addresses as sorted, disjoint runs of integers: large ranges cost as little as small ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

Run = tuple[int, int]
"""First and last of a run of consecutive integers, both included."""


@dataclass(frozen=True)
class AddressSpace:
    """Addresses as integers; `runs` are sorted, disjoint and not adjacent."""

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> AddressSpace:
        """The union of runs in any order."""
        merged: list[Run] = []
        for first, last in sorted(run for run in runs if run[0] <= run[1]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @property
    def count(self) -> int:
        """How many addresses there are."""
        return sum(last - first + 1 for first, last in self.runs)

    def minus(self, other: AddressSpace) -> AddressSpace:
        """The addresses that are not in the other space."""
        if not other.runs:
            return self
        left: list[Run] = []
        for first, last in self.runs:
            for gap_first, gap_last in other.clipped(first, last).runs:
                if gap_first > first:
                    left.append((first, gap_first - 1))
                first = gap_last + 1
            if first <= last:
                left.append((first, last))
        return AddressSpace(tuple(left))

    def clipped(self, first: int, last: int) -> AddressSpace:
        """The part between two addresses, both included."""
        if first > last:
            return AddressSpace(())
        begin = bisect_left(self.runs, first, key=lambda run: run[1])
        end = bisect_right(self.runs, last, key=lambda run: run[0])
        return AddressSpace(tuple((max(first, low), min(last, high)) for low, high in self.runs[begin:end]))

    def moved(self, offset: int) -> AddressSpace:
        """The addresses that lie so far behind those of this space."""
        return AddressSpace(tuple((first + offset, last + offset) for first, last in self.runs))

    def slice(self, start: int, length: int) -> AddressSpace:
        """`length` addresses from the `start`-th on, counted from 0; fewer where the space ends."""
        taken: list[Run] = []
        place = bisect_right(self._before, start) - 1
        while length and place < len(self.runs):
            first, last = self.runs[place]
            first += start - self._before[place]
            end = min(last, first + length - 1)
            taken.append((first, end))
            length -= end - first + 1
            place += 1
            start = self._before[place]
        return AddressSpace(tuple(taken))

    @cached_property
    def _before(self) -> tuple[int, ...]:
        """How many addresses come before each run, and in the end how many there are."""
        return tuple(accumulate((last - first + 1 for first, last in self.runs), initial=0))

    def edges(self) -> Iterator[int]:
        """First and last of every run: where a property of equal blocks can change."""
        for first, last in self.runs:
            yield first
            yield last
