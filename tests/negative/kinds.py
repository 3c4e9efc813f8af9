"""All kinds of mistake, and the wrong stacks that they make of the good ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from negative import (
    addresses,
    choices,
    devices,
    doks,
    keys,
    machines,
    names,
    networks,
    oke,
    software,
    spiderpool,
    values,
)
from negative.base import Base
from negative.mistake import Kind, Mistake

_SUBJECTS = (keys, values, names, networks, addresses, choices, machines, devices, doks, oke, spiderpool, software)
KINDS: tuple[Kind, ...] = tuple(kind for subject in _SUBJECTS for kind in subject.KINDS)

# A mistake that looks the same in every stack is made in this many of each manager, and so many are made of one kind.
_REPEATS, _MOST = 1, 18


def wrong_stacks(kind: Kind, bases: Sequence[Base]) -> list[tuple[Base, Mistake]]:
    """The mistakes of a kind with the good stacks they are made in; which ones varies from kind to kind."""
    first = KINDS.index(kind) % len(bases)
    seen: Counter[str] = Counter()
    made = []
    for base in (*bases[first:], *bases[:first]):
        for mistake in kind.mistakes(base):
            looks = _looks(base, mistake)
            seen[looks] += 1
            if seen[looks] <= _REPEATS:
                made.append((base, mistake))
    # Evenly from all of them, so that the last stack counts as much as the first.
    return made if len(made) <= _MOST else [made[place * len(made) // _MOST] for place in range(_MOST)]


def _looks(base: Base, mistake: Mistake) -> str:
    """A mistake in words that are the same in every stack: what only moves from one place to another is not named."""
    moved = [base.at(place) for place, value in mistake.changes.items() if value is None]
    said = {place: "moved" if value in moved else value for place, value in mistake.changes.items()}
    return repr((base.manager, said, mistake.path))
