"""Every committed stack keeps every policy of the pack, with the settings that the pack comes with."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from analysed import POLICIES, broken_policies
from programs import DOKS, OKE, STACKS
from pulumi_policy import StackValidationPolicy
from recording import Registration


@pytest.mark.parametrize("stack", sorted(STACKS))
def test_every_committed_stack_keeps_every_policy(
    registered: Callable[[str], tuple[Registration, ...]], stack: str
) -> None:
    assert broken_policies(stack, registered(stack)) == {}


@pytest.mark.parametrize("stack", [DOKS[0], OKE[0], OKE[-1]])
def test_a_preview_of_a_cluster_that_is_still_to_come_breaks_nothing(
    registered: Callable[[str], tuple[Registration, ...]], stack: str
) -> None:
    """The engine shows policies on whole stacks nothing of objects whose cluster is not there yet."""
    shown = [replace(r, inputs={}) if r.type.startswith("kubernetes:") else r for r in registered(stack)]
    whole = [name for name, policy in POLICIES.items() if isinstance(policy, StackValidationPolicy)]

    assert broken_policies(stack, shown, asked=whole) == {}


def test_a_production_stack_must_be_protected(registered: Callable[[str], tuple[Registration, ...]]) -> None:
    """The same registrations, under the name of a production stack."""
    assert set(broken_policies("ml-prod", registered("doks-h200"))) == {"protected-clusters"}
    assert broken_policies("ml-prod", registered("oke-h200")) == {}
