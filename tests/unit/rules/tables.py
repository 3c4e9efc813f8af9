"""The form of a rule's cases, and what a rule finds in one."""

import json
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

from changes import Changes, changed
from committed_stacks import folder_of

from gpu_fabric.findings import ConfigurationError, Finding, rules
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.prepare import plan_spec
from gpu_fabric.rules.checking import plan_findings, spec_findings
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument

Alteration = Callable[[Plan], Plan]
"""A plan with one thing wrong that no stack file can bring about; see `rules.alterations`."""


_FOUND: dict[tuple[str, str, str, Alteration | None], tuple[Finding, ...]] = {}
"""What rules find in a stack with some changes: of rules without a plan each is asked alone, all others together."""


class RuleCase(NamedTuple):
    """A committed stack with some values changed, and where a rule must find something in it.

    `bad`: at exactly these paths, written without `gpu-fabric:`; `good`: nowhere, although the rule looks;
    `irrelevant`: nowhere, because the rule is not about such stacks. `alteration` is applied to the plan before a rule
    looks at it.
    """

    rule: str
    sort: Literal["good", "bad", "irrelevant"]
    stack: str
    changes: Changes
    paths: tuple[str, ...] = ()
    alteration: Alteration | None = None


def good(rule: str, stack: str, changes: Changes | None = None) -> RuleCase:
    """A stack that the rule looks at and accepts.

    That no rule refuses a committed stack as it is, the negative set shows; here one such case of a rule is enough.
    """
    return RuleCase(rule, "good", stack, changes or {})


def bad(rule: str, stack: str, changes: Changes, *paths: str) -> RuleCase:
    """A stack in which the rule finds something at exactly these paths.

    Without one it is the last key that is changed; what begins with a dot or a bracket is below that key.
    """
    last = next(reversed(changes), "")
    return RuleCase(rule, "bad", stack, changes, tuple(_below(last, path) for path in paths or (last,)))


def _below(key: str, path: str) -> str:
    return key + path if path[:1] in (".", "[") else path


def irrelevant(rule: str, stack: str, changes: Changes | None = None) -> RuleCase:
    """A stack that the rule is not about."""
    return RuleCase(rule, "irrelevant", stack, changes or {})


@cache
def document_of(stack: str) -> StackDocument:
    """A committed stack, read once."""
    return read_document(stack, folder_of(stack))


def spec_of(case: RuleCase) -> StackSpec:
    """The case's spec, which must be well-formed: rules are not asked about others."""
    document = changed(document_of(case.stack), case.changes)
    spec, problems = validate(document)
    assert not problems, [f"{problem.path}: {problem.message}" for problem in problems]
    assert spec is not None
    return spec


@cache
def _case_of(stack: str) -> Case:
    """A committed stack as its file has it."""
    return case_of(spec_of(RuleCase("", "irrelevant", stack, {})))


def found_in(case: RuleCase) -> tuple[Finding, ...]:
    """What the case's rule finds; the case of a rule about plans must be one that can be planned."""
    alone = rules()[case.rule].stage == "spec" and case.alteration is None
    key = (case.stack, json.dumps(case.changes, default=str), case.rule if alone else "", case.alteration)
    if key not in _FOUND:
        whole = _of_the_plan if case.alteration is None else _of_the_altered
        _FOUND[key] = _of_the_spec(case) if alone else whole(case)
    return tuple(entry for entry in _FOUND[key] if entry.id == case.rule)


def _of_the_spec(case: RuleCase) -> tuple[Finding, ...]:
    known = case_of(spec_of(case)) if case.changes else _case_of(case.stack)
    return spec_findings(known, lambda rule: rule is rules()[case.rule])


def _of_the_altered(case: RuleCase) -> tuple[Finding, ...]:
    assert case.alteration is not None
    spec = spec_of(case)
    return plan_findings(case_of(spec), case.alteration(plan_spec(spec)))


def _of_the_plan(case: RuleCase) -> tuple[Finding, ...]:
    try:
        return plan_spec(spec_of(case)).findings
    except ConfigurationError as error:
        early = [f"{entry.path}: {entry.message}" for entry in error.findings if rules()[entry.id].stage != "plan"]
        assert not early, f"the stack is refused before it is planned: {early}"
        return error.findings
