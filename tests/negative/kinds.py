"""All kinds of mistake, and the wrong stacks that they make of the good ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from rules.cases import every_case
from rules.tables import RuleCase, document_of

from gpu_fabric.findings import Severity, rules
from negative import (
    addresses,
    choices,
    clusters,
    devices,
    doks,
    fabrics,
    host_preparation,
    keys,
    machines,
    names,
    nccl_settings,
    networks,
    node_kinds,
    oke,
    operators,
    other_pools,
    sections,
    software,
    spiderpool,
    split,
    topologies,
    values,
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
    oke,
    spiderpool,
    host_preparation,
    fabrics,
    nccl_settings,
    software,
    operators,
    clusters,
    other_pools,
    sections,
    split,
)

# Rules whose answer to a case hangs on more of a stack than `Base.choices`: their mistakes are kinds of their own.
_OTHERWISE_ELSEWHERE = """
ADR002 ADR004 ADR006 ADR007 ADR008 ADR009 ADR011 ADR018 ADR022 DEV005 DEV013 DPK002 HPR003 HPR006 IPM004 IPM007 NCL015
NCT005 NET001 NET004 NET013 NOP001 NOP004 OKE001 OKE012 OKE027 OKE046 OKE047 OKE050 OTH002 OWN003 OWN004 OWN005 RES001
RES002 SCH007 SPI001 SPI011 SUP009 TNT002 UPG004 UPG005 VFN004 VFN011 VFY005
"""


@cache
def _choices_of(stack: str) -> tuple[object, ...]:
    return Base(stack, document_of(stack).sections).choices


def _of_a_rule(rule: str, cases: Sequence[RuleCase]) -> Kind:
    """The bad cases of a rule as mistakes in every stack like the case's own that has what the case changes."""

    def made(base: Base) -> Iterator[Mistake]:
        for case in (case for case in cases if _choices_of(case.stack) == base.choices):
            taken = [place for place, value in case.changes.items() if value is None]
            same = all(base.at(place) == value for place, value in case.changes.items())
            if all(map(base.has, taken)) and not same:
                yield from (Mistake(case.changes, path) for path in case.paths)

    return Kind(f"{rule} is broken: {rules()[rule].title.rstrip('.')}", rule, made, most=4)


def _of_rules() -> Iterator[Kind]:
    """A kind for each rule that refuses: what is written with the rule is not written here again."""
    for rule in (name for name, row in rules().items() if row.severity is Severity.ERROR):
        cases = [case for case in every_case() if (case.rule, case.sort, case.alteration) == (rule, "bad", None)]
        if cases and rule not in _OTHERWISE_ELSEWHERE:
            yield _of_a_rule(rule, cases)


KINDS: tuple[Kind, ...] = (*(kind for subject in _SUBJECTS for kind in subject.KINDS), *_of_rules())


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
    return every if len(every) <= kind.most else [every[place * len(every) // kind.most] for place in range(kind.most)]


def _looks(base: Base, mistake: Mistake) -> str:
    """A mistake in words that are the same in every stack of a manager: what only moves to another key is not named."""
    moved = [base.at(place) for place, value in mistake.changes.items() if value is None]
    said = {place: "moved" if value in moved else value for place, value in mistake.changes.items()}
    return repr((base.manager, said, mistake.path))
