"""The managers: each is one module, and no other code asks which of them a stack has."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from changes import Changes

from gpu_fabric.catalog import catalog
from gpu_fabric.plan import Plan
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.spec.fabric import Manager

HOME = "gpu_fabric/plan/managers"
NAMES = get_args(Manager)
PACKAGES = ("gpu_fabric", "components", "stacks", "policy", "sandbox")
# Files that may compare a manager with a name, and why.
ALLOWED = {
    "gpu_fabric/rules/checks/support.py": "the support matrix: the manager doks is for DigitalOcean's machines only"
}


def test_stack_file_matrix_and_modules_know_the_same_names(root: Path) -> None:
    modules = {path.stem.replace("_", "-") for path in (root / HOME).glob("*.py")} - {"--init--", "manager"}

    assert set(MANAGERS) == set(NAMES) == modules == {row.manager for row in catalog().support}


@pytest.mark.parametrize("name", NAMES)
def test_facts_about_models_are_of_models_that_the_matrix_has(name: Manager) -> None:
    assert MANAGERS[name].models_without_rdma <= {row.model for row in catalog().support if row.manager == name}


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
