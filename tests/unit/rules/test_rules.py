"""The rule book: every row is checked somewhere, every finding has a row, and severity comes from the row."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from each_case import each

from gpu_fabric.changes.model import RULES
from gpu_fabric.findings import ConfigurationError, Finding, Severity, errors, finding, former_ids, rules
from gpu_fabric.rules.promises import promise
from gpu_fabric.rules.registry import PLAN_CHECKS, SPEC_CHECKS

# What makes a finding, or what the command `attach` says.
MAKES_A_FINDING = ("finding", "difference", "damage", "refuse", "note", "InputError", "Problem")


# Where the code of each stage is. Which of its three a rule of `live` has, its own tests hold, cluster by cluster.
FOLDERS = {
    "reading": ("spec", "prepare", "new_stack"),
    "plan --as": ("render",),
    "attach": ("attach", "contract", "workloads"),
    "krm": ("attach",),
    "lint": ("nccl_topology",),
    "image-check": ("image",),
    "verdict": ("nccl/verdict",),
    **dict.fromkeys(("preflight", "drift", "doctor"), ("live", "preflight", "drift", "doctor")),
}


def ids_called(root: Path, *names: str) -> Iterator[str]:
    """Ids that are first arguments of calls of some functions and methods in the program, decorators included."""
    yield from (found for called, found, _ in _calls_with_ids(root) if called in names)


@cache
def _calls_with_ids(root: Path) -> list[tuple[str | None, str, str]]:
    """Every call in the program whose first argument is an id: what is called, the id, and the file."""
    calls = []
    for path in [*(root / "gpu_fabric").rglob("*.py"), *(root / "nccl_topology").glob("*.py")]:
        place = path.relative_to(root).as_posix().removeprefix("gpu_fabric/")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            if re.fullmatch(r"[A-Z]{3}\d{3}", str(node.args[0].value)):
                calls.append((getattr(node.func, "id", getattr(node.func, "attr", None)), node.args[0].value, place))
    return calls


def test_every_rule_without_a_check_is_found_somewhere_and_tested(root: Path) -> None:
    reading = {name for name, rule in rules().items() if not rule.is_of_stacks}
    expected = "".join(
        file.read_text(encoding="utf-8") for end in ("py", "yaml") for file in (root / "tests").rglob(f"*.{end}")
    )

    assert {*ids_called(root, *MAKES_A_FINDING), *RULES.values()} == reading
    assert [rule for rule in reading if rule not in expected] == []


def test_the_stage_of_a_rule_is_that_of_the_folder_whose_code_finds_it(root: Path) -> None:
    found = {(name, place) for called, name, place in _calls_with_ids(root) if called in MAKES_A_FINDING}

    assert [one for one in found if not one[1].startswith(FOLDERS[rules()[one[0]].stage])] == []
    assert {rules()[name].stage for name in RULES.values()} == {"diff"}


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


@each("rule", sorted({*SPEC_CHECKS, *PLAN_CHECKS}))
def test_every_check_says_what_holds_in_one_sentence(rule: str) -> None:
    docstring = (SPEC_CHECKS.get(rule) or PLAN_CHECKS[rule]).__doc__ or ""

    assert promise(rule) == docstring.partition("\n")[0]
    assert docstring.partition("\n")[0].endswith(".")


def test_only_errors_stop_a_run() -> None:
    found = [finding(name, "", "wrong", "right") for name in rules()]

    assert {entry.severity for entry in errors(found)} == {Severity.ERROR}
    assert len(errors(found)) == sum(rule.severity is Severity.ERROR for rule in rules().values())


def test_an_error_lists_file_place_problem_rule_and_remedy() -> None:
    first = Finding(id="SPC001", severity=Severity.ERROR, path="gpu-fabric:x", message="is odd", remedy="even it")
    second = first.model_copy(update={"path": ""})

    assert str(ConfigurationError([first, second], "Pulumi.lab.yaml")).splitlines() == [
        "Pulumi.lab.yaml: 2 problems, nothing was created.",
        "  error SPC001 gpu-fabric:x: is odd",
        "      -> even it",
        "  error SPC001: is odd",
        "      -> even it",
    ]


def test_pages_name_only_rules_that_exist(root: Path) -> None:
    for page in (root / "docs").glob("*.md"):
        former = former_ids().keys() if page.name == "upgrading.md" else ()
        named = set(re.findall(r"\b(?!SHA)[A-Z]{3}\d{3}\b", page.read_text(encoding="utf-8")))
        assert named <= {*rules(), *former}, page.name
