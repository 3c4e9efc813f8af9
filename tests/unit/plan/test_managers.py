"""The managers: each is one module, and no other code asks which of them a stack has."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from changes import Changes

from gpu_fabric.catalog import Support, catalog
from gpu_fabric.plan import Plan
from gpu_fabric.plan.managers import MANAGERS, FabricManager
from gpu_fabric.spec.fabric import Manager, VirtualFunctions

HOME = "gpu_fabric/plan/managers"
NAMES = get_args(Manager)
PACKAGES = ("gpu_fabric", "components", "stacks", "policy", "sandbox")
# Files that may compare a manager with a name, and why.
ALLOWED = {
    "gpu_fabric/rules/checks/support.py": "the support matrix: the manager doks is for DigitalOcean's machines only",
}


def test_every_name_of_a_stack_file_has_one_module_and_every_module_one_name(root: Path) -> None:
    modules = {path.stem.replace("_", "-") for path in (root / HOME).glob("*.py")} - {"--init--", "manager"}

    assert set(MANAGERS) == set(NAMES) == modules
    assert {name: made.__module__.rpartition(".")[2].replace("_", "-") for name, made in MANAGERS.items()} == {
        name: name for name in NAMES
    }


def test_the_catalog_and_the_stack_file_know_the_same_names() -> None:
    assert set(get_args(Support.model_fields["manager"].annotation)) == set(NAMES)
    assert {row.manager for row in catalog().support} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_facts_about_models_are_of_models_that_the_matrix_has(name: Manager) -> None:
    assert MANAGERS[name].models_without_rdma <= {row.model for row in catalog().support if row.manager == name}


@pytest.mark.parametrize("row", catalog().support, ids=lambda row: f"{row.manager}-{row.model}")
def test_the_matrix_says_what_creates_virtual_functions_where_pods_get_some(row: Support) -> None:
    assert bool(row.virtual_functions) == (row.access == "virtual")
    assert set(row.virtual_functions) <= set(get_args(VirtualFunctions))


@pytest.mark.parametrize("name", NAMES)
def test_pools_and_networks_come_after_steps_that_a_stack_has(
    name: Manager, stack_plans: tuple[Plan, ...], plan_with: Callable[[Changes], Plan]
) -> None:
    # No committed stack patches Spiderpool's coordinator.
    patched = plan_with({"fabric.manager": "spiderpool", "software.spiderpool.coordinator.tunePodRoutes": True})
    found = {step.name for plan in (*stack_plans, patched) if plan.choices.manager == name for step in plan.steps}

    assert set(MANAGERS[name].steps) <= found


def test_no_other_code_compares_a_manager_with_a_name(root: Path) -> None:
    found = {
        str(path.relative_to(root))
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if HOME not in str(path) and any(questions(path.read_text(encoding="utf-8")))
    }

    assert found == set(ALLOWED)


def test_no_other_code_knows_the_class_of_a_manager(root: Path) -> None:
    classes = {made.__name__ for made in MANAGERS.values()}
    found = [
        f"{path.relative_to(root)} imports {alias.name}"
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if HOME not in str(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(HOME.replace("/", "."))
        for alias in node.names
        if alias.name in classes
    ]

    assert found == []


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ('case.choices.manager == "doks"', True),
        ('"doks" in (choices.provider, choices.manager)', True),
        ('row.manager not in ("spiderpool", "doks")', True),
        ('(choices.manager, choices.model) == ("spiderpool", "ipoib")', True),
        ('manager_of(case).chart == "spiderpool"', True),
        ('match choices.manager:\n    case "spiderpool":\n        pass', True),
        ("[row for row in rows if row.manager == choices.manager]", False),
        ('choices.provider == "doks"', False),
        ('addresses.ipam == "spiderpool"', False),
        ("manager_of(case).multus_switch is None", False),
    ],
)
def test_a_question_for_the_manager_is_found(source: str, asks: bool) -> None:
    assert any(questions(source)) == asks


def questions(source: str) -> Iterator[str]:
    """Every comparison of a manager with a name, in any form, as source text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            operands: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            operands = [node.subject, *(case.pattern for case in node.cases)]
        else:
            continue
        names = any(
            isinstance(part, ast.Constant) and part.value in NAMES for one in operands for part in ast.walk(one)
        )
        if names and any(re.search(r"\bmanager(_of)?\b", ast.unparse(operand)) for operand in operands):
            yield ast.unparse(node)


def test_a_manager_says_of_itself_only_what_the_form_has() -> None:
    for made in MANAGERS.values():
        own = {name for name in vars(made) if not name.startswith("_")}
        assert own <= set(vars(FabricManager)) | set(FabricManager.__annotations__)
