"""Which function checks a rule of the book."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from gpu_fabric.findings import Stage, rules
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case


class Problem(NamedTuple):
    """What a check found: the dotted path in the stack file, what is wrong, and what to write instead."""

    path: str
    message: str
    remedy: str


SpecCheck = Callable[[Case], Iterator[Problem]]
PlanCheck = Callable[[Case, Plan], Iterator[Problem]]
_Check = TypeVar("_Check", SpecCheck, PlanCheck)

# By rule; a module of `checks/` adds its own when it is imported.
SPEC_CHECKS: dict[str, SpecCheck] = {}
PLAN_CHECKS: dict[str, PlanCheck] = {}


def check(rule: str) -> Callable[[SpecCheck], SpecCheck]:
    """Make a function the check of a rule of the book that needs no plan."""
    return _register(rule, "spec", SPEC_CHECKS)


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
