"""Stacks on clusters that have NVIDIA's operators, installed by hand: what was there before is there afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver import POLICY, Sandbox, until
from lived_in import MULTUS, by_hand, differences, nvidia_operators, settled
from test_models import assert_a_job_runs

from gpu_fabric.plan.records import PlannedAdoption
from gpu_fabric.prepare import prepare_stack
from sandbox.home import project_root

pytestmark = pytest.mark.sandbox

STACK = "existing-operators"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster of the stack's nodes, on which somebody installed both operators and wrote a policy."""
    sandbox = Sandbox(tmp_path_factory.mktemp("there"), STACK, ("--sandbox",))
    try:
        sandbox.run("up", *sandbox.options)
        nvidia_operators(sandbox)
        yield sandbox
    finally:
        sandbox.run("down")


def whole_policy() -> dict[str, Any]:
    """The sections that the stack would add, beside Multus, as somebody wrote them."""
    (planned,) = prepare_stack(STACK, project_root()).records(PlannedAdoption)
    spec = json.loads(json.dumps(planned.spec))
    return {**spec, "secondaryNetwork": {**spec["secondaryNetwork"], "multus": MULTUS}}


def test_an_adopted_policy_carries_the_fabric_and_is_afterwards_as_it_was(there: Sandbox) -> None:
    before = settled(there.api)
    there.run("pulumi", "up", *there.options)
    sections = there.api.get(POLICY)["spec"]
    assert sections.keys() == {"nvIpam", "secondaryNetwork", "sriovDevicePlugin"}
    assert sections["secondaryNetwork"]["multus"] == MULTUS
    assert_a_job_runs(there, "nvidia.com/rail_00", 1)

    assert f"{there.counted} unchanged" in there.run("pulumi", "up", *there.options)

    there.run("pulumi", "destroy", *there.options)
    until(lambda: there.api.get(POLICY)["status"]["state"] == "ready", "the policy is ready as it was")
    until(lambda: there.allocatable("nvidia.com/rail_00") == {}, "no node offers the rails any more")
    assert differences(before, settled(there.api)) == []
