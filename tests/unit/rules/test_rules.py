"""The rule book: every row is checked somewhere, every finding has a row, and severity comes from the row."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from each_case import each

from gpu_fabric.findings import ConfigurationError, Finding, Severity, errors, finding, groups, rules
from gpu_fabric.rules.promises import promise
from gpu_fabric.rules.registry import PLAN_CHECKS, SPEC_CHECKS, check, check_plan

# Rules on NCCL's log, whose faults are lines of it.
FOUND_IN_A_LOG = {f"VER{number:03}" for number in range(22, 29)}
# Rules without a check in the registry, and where a stack that breaks them is read.
TESTED_WHERE_READ = {
    "SPC001": "test_prepare.py",
    "SPC002": "test_spec_load.py",
    "SPC003": "test_spec_problems.py",
    "SPC004": "test_spec_load.py",
    "SPC005": "test_stack_text.py",
    "SPC006": "test_plain_secrets.py",
    "CLU001": "test_kubeconfig.py",
    "CLU003": "test_prepare.py",
    "CLU011": "test_kubeconfig.py",
    "CLU012": "test_prepare.py",
    "SUP007": "test_refused_runs.py",
    "SUP010": "test_support.py",
    **dict.fromkeys(("SPL001", "SPL002", "SPL003"), "test_split.py"),
    **{
        name: {"ATT004": "test_attach_rules.py", "ATT030": "test_attach_krm.py", "ATT031": "test_attach_groups.py"}.get(
            name, "attach_cases.py"
        )
        for name, rule in rules().items()
        if rule.group == "attach"
    },
    **{
        name: "test_account.py"
        if name.startswith(("PRE12", "PRE13"))
        else "test_differences.py"
        if name == "PRE071"
        else "planted.py"
        for name, rule in rules().items()
        if rule.group == "preflight"
    },
    **{name: "changed_by_hand.py" for name, rule in rules().items() if rule.group == "drift"},
    **{
        name: "test_damages.py" if name == "DOC004" else "damaged.py"
        for name, rule in rules().items()
        if rule.group == "doctor"
    },
    **{name: "topology_cases.py" for name, rule in rules().items() if rule.group == "topology"},
    **{
        name: ("nccl_logs.py" if name in FOUND_IN_A_LOG else "verdict_faults.py")
        if rule.severity is Severity.ERROR
        else "test_verdict.py"
        for name, rule in rules().items()
        if rule.group == "verdict"
    },
    **{
        name: "test_verification_verdict.py"
        for name, rule in rules().items()
        if rule.group == "verification" and rule.stage == "reading"
    },
}


# What makes a finding, or what the command `attach` says.
MAKES_A_FINDING = ("finding", "difference", "damage", "refuse", "note", "Problem", "Note", "InputError")


def ids_called(root: Path, *names: str) -> Iterator[str]:
    """Ids that are first arguments of calls of some functions and methods in the program, decorators included."""
    yield from (found for called, found in _calls_with_ids(root) if called in names)


@cache
def _calls_with_ids(root: Path) -> list[tuple[str | None, str]]:
    """Every call in the program whose first argument is an id: what is called, and the id."""
    calls = []
    for path in (root / "gpu_fabric").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            if re.fullmatch(r"[A-Z]{3}\d{3}", str(node.args[0].value)):
                calls.append((getattr(node.func, "id", getattr(node.func, "attr", None)), node.args[0].value))
    return calls


def test_every_rule_that_is_checked_while_reading_is_found_somewhere(root: Path) -> None:
    reading = {name for name, rule in rules().items() if rule.stage == "reading"}

    assert set(ids_called(root, *MAKES_A_FINDING)) == reading
    assert set(TESTED_WHERE_READ) == reading


@each(("rule", "file"), TESTED_WHERE_READ.items())
def test_every_rule_that_is_checked_while_reading_is_tested(root: Path, rule: str, file: str) -> None:
    (found,) = (root / "tests").rglob(file)

    assert rule in found.read_text(encoding="utf-8")


def test_every_other_rule_has_one_check_and_every_check_a_rule(root: Path) -> None:
    on_the_spec = list(ids_called(root, "check", "check_of", "check_each"))
    by_stage = {"spec": on_the_spec, "plan": list(ids_called(root, "check_plan"))}

    for stage, ids in by_stage.items():
        assert len(ids) == len(set(ids))
        assert set(ids) == {name for name, rule in rules().items() if rule.stage == stage}
    assert {*SPEC_CHECKS, *PLAN_CHECKS} == {name for ids in by_stage.values() for name in ids}


def test_ids_have_one_form_and_rows_say_what_why_and_on_whose_word() -> None:
    for name, rule in rules().items():
        assert re.fullmatch(r"[A-Z]{3}\d{3}", name)
        assert rule.id == name
        assert rule.title.endswith(".")
        assert rule.why.endswith(".")
        assert rule.source
        assert not rule.source.endswith(".")


def test_every_file_of_the_book_says_what_it_is_about() -> None:
    for group, subject in groups().items():
        assert subject.endswith("."), group
        assert not subject.startswith("#"), group


@each("rule", sorted({*SPEC_CHECKS, *PLAN_CHECKS}))
def test_every_check_says_what_holds_in_one_sentence(rule: str) -> None:
    docstring = (SPEC_CHECKS.get(rule) or PLAN_CHECKS[rule]).__doc__ or ""

    assert promise(rule) == docstring.partition("\n")[0]
    assert docstring.partition("\n")[0].endswith(".")


@pytest.mark.parametrize("register", [check, check_plan])
@pytest.mark.parametrize("rule", ["SPC001", "ADR001", "RES001"])
def test_a_rule_takes_one_check_and_that_of_its_own_stage(register: Callable[[str], object], rule: str) -> None:
    with pytest.raises(KeyError, match="checked elsewhere"):
        register(rule)


@each("name", sorted(rules()))
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


def test_the_page_of_the_operators_rules_names_only_rules_and_models_that_exist(root: Path) -> None:
    page = (root / "docs" / "operator-rules.md").read_text(encoding="utf-8")
    cells = [cell for line in page.splitlines() if line.startswith("| ") for cell in line.split("|")[2:3]]
    named = {name for cell in cells for name in re.findall(r"\b[A-Z]{3}\d{3}\b", cell)}
    models = {
        name
        for cell in cells
        for words in re.findall(r"\bmodels? ([A-Z]\w+(?:(?:, | and )[A-Z]\w+)*)", cell)
        for name in re.split(r", | and ", words)
    }
    sources = "".join(path.read_text(encoding="utf-8") for path in (root / "gpu_fabric" / "k8s").glob("*.py"))

    assert named
    assert named <= set(rules())
    assert models
    assert all(f"class {name}(" in sources for name in models), models
