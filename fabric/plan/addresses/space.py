"""Sets of addresses as sorted, disjoint runs of integers: large ranges cost as little as small ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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

    def slice(self, start: int, length: int) -> AddressSpace:
        """`length` addresses from the `start`-th on, counted from 0; fewer where the space ends."""
        taken: list[Run] = []
        for first, last in self.runs:
            size = last - first + 1
            if start >= size:
                start -= size
                continue
            end = min(last, first + start + length - 1)
            taken.append((first + start, end))
            length -= end - (first + start) + 1
            start = 0
            if not length:
                break
        return AddressSpace(tuple(taken))

    def edges(self) -> Iterator[int]:
        """First and last of every run: where a property of equal blocks can change."""
        for first, last in self.runs:
            yield first
            yield last
