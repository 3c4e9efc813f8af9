"""Wrong stacks: the bad cases of every rule that refuses, in every good stack like the case's own."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from rules.cases import every_case
from rules.tables import RuleCase, document_of

from gpu_fabric.findings import Severity, rules
from negative.base import Base


class Mistake(NamedTuple):
    """One wrong stack: the places to change in a good one (`None` takes a place out), and the place of the finding."""

    changes: Mapping[str, Any]
    path: str


@cache
def _choices_of(stack: str) -> tuple[object, ...]:
    return Base(stack, document_of(stack).sections).choices


@cache
def bad_cases() -> dict[str, list[RuleCase]]:
    """The cases of each rule that a stack file can bring about and that are refused."""
    found: dict[str, list[RuleCase]] = {}
    for case in every_case():
        if case.sort == "bad" and case.alteration is None and rules()[case.rule].severity is Severity.ERROR:
            found.setdefault(case.rule, []).append(case)
    return found


def mistakes(rule: str, base: Base) -> Iterator[Mistake]:
    """The bad cases of a rule as mistakes in a stack that is like the case's own and has what the case changes."""
    for case in (case for case in bad_cases()[rule] if _choices_of(case.stack) == base.choices):
        taken = [place for place, value in case.changes.items() if value is None]
        same = all(base.at(place) == value for place, value in case.changes.items())
        if all(map(base.has, taken)) and not same:
            yield from (Mistake(case.changes, path) for path in case.paths)


# How many wrong stacks are made by the cases of a rule.
MOST = 4


def wrong_stacks(rule: str, bases: Sequence[Base]) -> list[tuple[Base, Mistake]]:
    """The mistakes of a rule with the good stacks they are made in.

    A mistake is made in one of the stacks of a manager in which it is the same; which, varies by rule.
    """
    first = [*bad_cases()].index(rule) % len(bases)
    made: dict[str, tuple[Base, Mistake]] = {}
    for base in (*bases[first:], *bases[:first]):
        for mistake in mistakes(rule, base):
            made.setdefault(repr((base.manager, mistake)), (base, mistake))
    every = list(made.values())
    # Evenly from all of them, so that the last stack counts as much as the first.
    return every if len(every) <= MOST else [every[place * len(every) // MOST] for place in range(MOST)]
