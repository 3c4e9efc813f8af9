"""Every rule with a check: it accepts good stacks, finds the fault in bad ones, and is silent about others."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from gpu_fabric.findings import rules
from gpu_fabric.spec.places import NAMESPACE
from rules import cases
from rules.tables import RuleCase, found_in

TABLES: dict[str, tuple[RuleCase, ...]] = {
    module.name: import_module(f"{cases.__name__}.{module.name}").CASES for module in iter_modules(cases.__path__)
}
CHECKED = [name for name, rule in rules().items() if rule.stage != "reading"]
CASES = [case for table in TABLES.values() for case in table]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}-{case.sort}-{case.stack}" for case in CASES])
def test_a_rule_finds_what_is_wrong_and_nothing_else(case: RuleCase) -> None:
    found = found_in(case)

    assert [entry.path for entry in found] == [f"{NAMESPACE}:{path}" for path in case.paths]


@pytest.mark.parametrize("case", [case for case in CASES if case.sort == "bad"], ids=lambda case: case.rule)
def test_a_finding_says_what_is_wrong_and_what_to_write(case: RuleCase) -> None:
    for entry in found_in(case):
        assert entry.message
        assert entry.remedy
        assert not entry.message.endswith(".")
        assert not entry.remedy.endswith(".")
        assert "None" not in entry.message + entry.remedy
        assert rules()[case.rule].message in ("", entry.message)
        assert rules()[case.rule].remedy in ("", entry.remedy)


@pytest.mark.parametrize("rule", CHECKED)
def test_every_checked_rule_has_a_good_a_bad_and_an_irrelevant_case(rule: str) -> None:
    assert {case.sort for case in CASES if case.rule == rule} == {"good", "bad", "irrelevant"}


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}-{case.sort}" for case in CASES])
def test_only_bad_cases_name_paths(case: RuleCase) -> None:
    assert bool(case.paths) == (case.sort == "bad")


def test_every_group_of_the_book_that_is_checked_has_a_table_of_its_own_rules() -> None:
    groups = {rules()[rule].group for rule in CHECKED}

    assert groups <= set(TABLES)
    assert all(rules()[case.rule].group == group for group, table in TABLES.items() for case in table)
