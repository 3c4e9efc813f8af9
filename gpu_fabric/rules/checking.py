"""The findings of a stack by the rule book."""

from __future__ import annotations

import gpu_fabric.rules.checks  # noqa: F401  # registers the checks
from gpu_fabric.findings import Finding, finding, rules
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import PLAN_CHECKS, SPEC_CHECKS


def spec_findings(case: Case) -> tuple[Finding, ...]:
    """What the checks find that need no plan, in the order of the book."""
    found = ((name, SPEC_CHECKS[name](case)) for name in rules() if name in SPEC_CHECKS)
    return tuple(finding(name, *problem) for name, problems in found for problem in problems)


def plan_findings(case: Case, plan: Plan) -> tuple[Finding, ...]:
    """What the checks find on a finished plan, in the order of the book."""
    found = ((name, PLAN_CHECKS[name](case, plan)) for name in rules() if name in PLAN_CHECKS)
    return tuple(finding(name, *problem) for name, problems in found for problem in problems)
