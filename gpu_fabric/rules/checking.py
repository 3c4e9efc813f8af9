"""The findings of a stack by the rule book."""

from __future__ import annotations

from collections.abc import Callable

import gpu_fabric.rules.checks  # noqa: F401  # registers the checks
from gpu_fabric.findings import Finding, finding, rules
from gpu_fabric.findings.book import Rule
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import PLAN_CHECKS, SPEC_CHECKS

Chosen = Callable[[Rule], bool]
"""Which rules are asked."""


def _all(_: Rule) -> bool:
    return True


def spec_findings(case: Case, chosen: Chosen = _all) -> tuple[Finding, ...]:
    """What the checks find that need no plan, in the order of the book."""
    asked = (name for name, rule in rules().items() if name in SPEC_CHECKS and chosen(rule))
    return tuple(finding(name, *problem) for name in asked for problem in SPEC_CHECKS[name](case))


def plan_findings(case: Case, plan: Plan, chosen: Chosen = _all) -> tuple[Finding, ...]:
    """What the checks find on a finished plan, in the order of the book."""
    asked = (name for name, rule in rules().items() if name in PLAN_CHECKS and chosen(rule))
    return tuple(finding(name, *problem) for name in asked for problem in PLAN_CHECKS[name](case, plan))
