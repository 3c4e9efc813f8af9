"""A committed stack with one mistake breaks the one policy that is about it, and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from analysed import POLICIES, broken_policies
from mutant_stacks import MUTANTS, Edit, Mutant
from programs import STACKS, run_program, stack_config
from recording import Registration
from stub_cluster import KUBECONFIG

pytestmark = pytest.mark.policy
Registered = Callable[[str], tuple[Registration, ...]]


def registrations(mutant: Mutant, edits: list[Edit | None], registered: Registered, folder: Path) -> list[Registration]:
    """What the stack registers after some changes of its file."""
    if not any(edits):
        return list(registered(mutant.stack))
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    config = stack_config(STACKS[mutant.stack], kubeconfig)
    for edit in filter(None, edits):
        edit(config)
    return run_program(mutant.stack, config).resources


def test_every_policy_has_a_mutant() -> None:
    assert set(MUTANTS) == set(POLICIES)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mistake_breaks_its_policy_and_no_other(registered: Registered, tmp_path: Path, name: str) -> None:
    mutant = MUTANTS[name]
    wrong = registrations(mutant, [mutant.before, mutant.edit], registered, tmp_path)
    wrong = mutant.change(wrong) if mutant.change is not None else wrong
    found = broken_policies(mutant.stack, wrong, mutant.settings)

    assert set(found) == {name}, found


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.settings])
def test_without_its_mistake_the_stack_is_good_under_the_same_settings(
    registered: Registered, tmp_path: Path, name: str
) -> None:
    mutant = MUTANTS[name]
    right = registrations(mutant, [mutant.before], registered, tmp_path)

    assert broken_policies(mutant.stack, right, mutant.settings) == {}


def test_a_production_stack_must_be_protected(registered: Registered) -> None:
    """The same registrations, under the name of a production stack."""
    assert set(broken_policies("ml-prod", registered("doks-h200"))) == {"protected-clusters"}
    assert broken_policies("ml-prod", registered("oke-h200")) == {}
