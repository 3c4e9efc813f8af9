"""Names that differ in a number, written once: `gpu-[001-064]`, as Slurm and pdsh have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

MOST_NAMES = 8192
"""Limit of the names of one text; that of the nodes of a pool."""

_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RUN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_EXAMPLE = "write one like gpu-[001-064] or gpu-[01-12,15]"


def names_of(text: str) -> tuple[str, ...]:
    """The names that a text stands for, in order; a text without brackets stands for itself.

    A number has as many digits as the first one of its run is written with. With several brackets the last one counts
    fastest.

    Raises:
        ValueError: brackets hold no numbers, a run goes backwards, or there are more than MOST_NAMES names.
    """
    parts = _RANGES.split(text)
    fixed, ranges = parts[::2], parts[1::2]
    if any(bracket in part for part in fixed for bracket in "[]"):
        raise ValueError(f"{text!r} has a bracket without its other one; {_EXAMPLE}")
    numbers = [list(_numbers(text, written)) for written in ranges]
    count = 1
    for entries in numbers:
        count *= len(entries)
    if count > MOST_NAMES:
        raise ValueError(f"{text!r} stands for {count} names; at most {MOST_NAMES} are possible")
    return tuple(
        "".join((fixed[0], *(piece for pair in zip(chosen, fixed[1:], strict=True) for piece in pair)))
        for chosen in product(*numbers)
    )


def every_name(texts: Iterable[str]) -> tuple[str, ...]:
    """The names that texts stand for, one after another.

    Raises:
        ValueError: as `names_of`.
    """
    found: list[str] = []
    for text in texts:
        found += names_of(text)
        if len(found) > MOST_NAMES:
            raise ValueError(f"more than {MOST_NAMES} names; at most so many are possible")
    return tuple(found)


def _numbers(text: str, written: str) -> Iterator[str]:
    for run in written.split(","):
        found = _RUN.fullmatch(run.strip())
        if found is None:
            raise ValueError(f"{text!r}: [{written}] holds no numbers; {_EXAMPLE}")
        first, last = found[1], found[2] or found[1]
        if int(last) < int(first):
            raise ValueError(f"{text!r}: {first}-{last} runs backwards; write {last}-{first}")
        if int(last) - int(first) >= MOST_NAMES:
            raise ValueError(f"{text!r}: {first}-{last} are {int(last) - int(first) + 1} names; at most {MOST_NAMES}")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
