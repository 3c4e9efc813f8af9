"""Every rule with a check: it accepts good stacks, finds the fault in bad ones, and is silent about others."""

from __future__ import annotations

import pytest
from each_case import each

from gpu_fabric.findings import rules
from gpu_fabric.spec.places import NAMESPACE
from rules.cases import every_case
from rules.tables import found_in

CHECKED = [name for name, rule in rules().items() if rule.is_of_stacks]
CASES = every_case()
BY_RULE = {rule: [case for case in CASES if case.rule == rule] for rule in CHECKED}


@pytest.mark.parametrize("rule", BY_RULE)
def test_a_rule_finds_what_is_wrong_and_nothing_else(rule: str) -> None:
    found = [(case, [entry.path for entry in found_in(case)]) for case in BY_RULE[rule]]

    assert [(case, at) for case, at in found if at != [f"{NAMESPACE}:{path}" for path in case.paths]] == []


@each("rule", BY_RULE)
def test_a_finding_says_what_is_wrong_and_what_to_write(rule: str) -> None:
    for entry in (entry for case in BY_RULE[rule] for entry in found_in(case)):
        assert entry.message
        assert entry.remedy
        assert not entry.message.endswith(".")
        assert not entry.remedy.endswith(".")
        assert "None" not in entry.message + entry.remedy
        assert rules()[rule].message in ("", entry.message)
        assert rules()[rule].remedy in ("", entry.remedy)


def test_every_checked_rule_has_a_good_a_bad_and_an_irrelevant_case() -> None:
    sorts = {rule: {case.sort for case in cases} for rule, cases in BY_RULE.items()}

    assert sorts == {rule: {"good", "bad", "irrelevant"} for rule in CHECKED}
