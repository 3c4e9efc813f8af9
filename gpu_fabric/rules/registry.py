"""Which function checks a rule of the book."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import NamedTuple, TypeVar

from gpu_fabric.findings.book import Stage, rules
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.spec.places import dotted


class Problem(NamedTuple):
    """What a check found: the dotted path in the stack file, what is wrong, and what to write instead.

    The texts are left out where the rule's row in the book has them, since they are the same for every stack.
    """

    path: str
    message: str = ""
    remedy: str = ""


def in_cluster(*keys: str | int) -> str:
    """The path of keys of the section `cluster`."""
    return dotted(("cluster", *keys))


def in_fabric(*keys: str | int) -> str:
    """The path of keys of the section `fabric`."""
    return dotted(("fabric", *keys))


def in_software(*keys: str | int) -> str:
    """The path of keys of the section `software`."""
    return dotted(("software", *keys))


SpecCheck = Callable[[Case], Iterator[Problem]]
PlanCheck = Callable[[Case, Plan], Iterator[Problem]]
_Check = TypeVar("_Check", SpecCheck, PlanCheck)
_Subject = TypeVar("_Subject")
SubjectCheck = Callable[[Case, _Subject], Iterator[Problem]]

# By rule; a module of `checks/` adds its own when it is imported.
SPEC_CHECKS: dict[str, SpecCheck] = {}
PLAN_CHECKS: dict[str, PlanCheck] = {}


def check(rule: str) -> Callable[[SpecCheck], SpecCheck]:
    """Make a function the check of a rule of the book that needs no plan."""
    return _register(rule, "spec", SPEC_CHECKS)


def check_each(
    rule: str, subjects: Callable[[Case], Iterable[_Subject]]
) -> Callable[[SubjectCheck[_Subject]], SubjectCheck[_Subject]]:
    """Make a function the check of a rule about each of a stack's `subjects`, such as its pools."""

    def register(function: SubjectCheck[_Subject]) -> SubjectCheck[_Subject]:
        @wraps(function)
        def check_all(case: Case) -> Iterator[Problem]:
            return (problem for subject in subjects(case) for problem in function(case, subject))

        check(rule)(check_all)
        return function

    return register


def check_of(
    rule: str, subject: Callable[[Case], _Subject | None]
) -> Callable[[SubjectCheck[_Subject]], SubjectCheck[_Subject]]:
    """Make a function the check of a rule about something that not every stack has, such as a chart or a cloud."""

    def present(case: Case) -> tuple[_Subject, ...]:
        found = subject(case)
        return () if found is None else (found,)

    return check_each(rule, present)


def check_plan(rule: str) -> Callable[[PlanCheck], PlanCheck]:
    """Make a function the check of a rule of the book on the finished plan."""
    return _register(rule, "plan", PLAN_CHECKS)


def _register(rule: str, stage: Stage, checks: dict[str, _Check]) -> Callable[[_Check], _Check]:
    if rules()[rule].stage != stage or rule in checks:
        raise KeyError(f"{rule} is checked elsewhere")

    def register(function: _Check) -> _Check:
        checks[rule] = function
        return function

    return register
