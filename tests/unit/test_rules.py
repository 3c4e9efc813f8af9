"""The rule book: every id in use has a row, every row is in use, and severity comes from the row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fabric.rules import ConfigurationError, Finding, Severity, errors, finding, rules


def ids_in_use(root: Path) -> set[str]:
    found: set[str] = set()
    for path in (root / "fabric").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding"
            if called and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return found


def test_every_id_in_use_has_a_row_and_every_row_is_in_use(root: Path) -> None:
    assert ids_in_use(root) == set(rules())


def test_ids_have_one_form_and_rows_say_what_and_why() -> None:
    for name, rule in rules().items():
        assert re.fullmatch(r"[A-Z]{3}\d{3}", name)
        assert rule.id == name
        assert rule.title.endswith(".")
        assert rule.why.endswith(".")


@pytest.mark.parametrize("name", sorted(rules()))
def test_a_findings_severity_is_its_rules(name: str) -> None:
    assert finding(name, "", "wrong", "right").severity is rules()[name].severity


def test_a_finding_of_an_unknown_rule_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        finding("XXX999", "", "wrong", "right")


def test_only_errors_stop_a_run() -> None:
    found = [finding(name, "", "wrong", "right") for name in rules()]

    assert {entry.severity for entry in errors(found)} == {Severity.ERROR}
    assert len(errors(found)) == sum(rule.severity is Severity.ERROR for rule in rules().values())


def test_an_error_lists_file_place_problem_rule_and_remedy() -> None:
    first = Finding(id="SPC001", severity=Severity.ERROR, path="gpu-fabric:x", message="is odd", remedy="even it")
    second = first.model_copy(update={"path": ""})

    assert str(ConfigurationError([first, second], "Pulumi.lab.yaml")).splitlines() == [
        "Pulumi.lab.yaml: 2 problems, nothing was created.",
        "  gpu-fabric:x: is odd [SPC001]",
        "      -> even it",
        "  stack: is odd [SPC001]",
        "      -> even it",
    ]
