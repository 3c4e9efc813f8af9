"""All kinds of mistake, and the wrong stacks that they make of the good ones."""

from __future__ import annotations

from collections.abc import Sequence

from negative import (
    addresses,
    chart_values,
    choices,
    clusters,
    devices,
    doks,
    doks_created,
    fabric_check,
    fabrics,
    guard,
    host_preparation,
    keys,
    machines,
    monitoring,
    names,
    nccl_settings,
    networks,
    node_kinds,
    oke,
    operators,
    other_pools,
    readiness,
    registries,
    software,
    spiderpool,
    spiderpool_software,
    split,
    topologies,
    upgrade,
    values,
    verification,
    virtual_functions,
)
from negative.base import Base
from negative.mistake import Kind, Mistake

_SUBJECTS = (
    keys,
    values,
    names,
    networks,
    addresses,
    choices,
    machines,
    topologies,
    node_kinds,
    devices,
    virtual_functions,
    doks,
    doks_created,
    oke,
    spiderpool,
    spiderpool_software,
    host_preparation,
    fabric_check,
    fabrics,
    upgrade,
    nccl_settings,
    verification,
    software,
    readiness,
    registries,
    operators,
    clusters,
    other_pools,
    chart_values,
    guard,
    split,
    monitoring,
)
KINDS: tuple[Kind, ...] = tuple(kind for subject in _SUBJECTS for kind in subject.KINDS)

# So many wrong stacks are made of one kind at most.
_MOST = 10


def wrong_stacks(kind: Kind, bases: Sequence[Base]) -> list[tuple[Base, Mistake]]:
    """The mistakes of a kind with the good stacks they are made in.

    A mistake that looks the same in several stacks of a manager is made in one of them; which, varies by kind.
    """
    first = KINDS.index(kind) % len(bases)
    made: dict[str, tuple[Base, Mistake]] = {}
    for base in (*bases[first:], *bases[:first]):
        for mistake in kind.mistakes(base):
            made.setdefault(_looks(base, mistake), (base, mistake))
    every = list(made.values())
    # Evenly from all of them, so that the last stack counts as much as the first.
    return every if len(every) <= _MOST else [every[place * len(every) // _MOST] for place in range(_MOST)]


def _looks(base: Base, mistake: Mistake) -> str:
    """A mistake in words that are the same in every stack of a manager: what only moves to another key is not named."""
    moved = [base.at(place) for place, value in mistake.changes.items() if value is None]
    said = {place: "moved" if value in moved else value for place, value in mistake.changes.items()}
    return repr((base.manager, said, mistake.path))
