"""Differences and dangers of stacks with several fabrics, by whole plans and by the outputs of the last run."""

from typing import Any

import pytest
from applied_outputs import outputs_of
from changes import Changes
from each_case import each
from planned_fabrics import example

from gpu_fabric.changes.change_page import drawn_fabrics
from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.footprint import footprint, footprint_diff, footprint_of_outputs
from gpu_fabric.changes.model import PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.plan import Plan
from gpu_fabric.render.layout import files, plan_of
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered

_ALONE: Changes = {
    "fabrics": {},
    "cluster.pools": [{"name": "h100", "shape": "server.dgx-h100.8", "nodes": 2, "labels": {"gpu": "h100"}}],
}
_MOVED: Changes = {"fabrics.a100.addressing.supernet": "172.19.0.0/16"}
_FIRST_MOVED: Changes = {"fabric.addressing.supernet": "172.19.0.0/16"}


def plan(stack: str, changes: Changes | None = None) -> Plan:
    return example(stack, changes)


def compared(before: Plan, after: Plan) -> PlanDiff:
    return plan_diff(rendered(before), rendered(after))


def by_outputs(before: Plan, after: Plan) -> PlanDiff:
    old = footprint_of_outputs(outputs_of(before))
    assert old is not None
    return footprint_diff(after.stack, old, footprint(after))


@each("stack", ["two-machines", "storage-fabric"])
def test_a_folder_holds_the_whole_plan(stack: str) -> None:
    found: RenderedPlan = rendered(plan(stack))

    assert plan_of(files(found)) == found
    assert [fabric.name for fabric in found.fabrics] == [fabric.name for fabric in plan(stack).fabrics]


@each("stack", ["two-machines", "storage-fabric"])
def test_a_stack_that_stays_as_it_is_differs_in_nothing(stack: str) -> None:
    for find in (compared, by_outputs):
        diff = find(plan(stack), plan(stack))
        assert (diff.resources, diff.rails, diff.elsewhere) == ((), (), ())
        assert dangers(diff) == ()


@pytest.mark.parametrize("find", [compared, by_outputs])
def test_addresses_of_a_further_fabric_that_move_are_a_danger(find: Any) -> None:
    diff = find(plan("two-machines"), plan("two-machines", _MOVED))

    assert [rail.label for rail in diff.rails] == [f"a100 {number}" for number in range(8)]
    assert all(len(rail.moved) == 2 for rail in diff.rails)
    found = dangers(diff)
    assert {danger.resource for danger in found} == {
        f"ip-pools-nvidia-network-operator-a100-rail-{number:02d}" for number in range(8)
    } or all("a100-rail-" in danger.resource for danger in found)
    assert len(found) == 8


@pytest.mark.parametrize("find", [compared, by_outputs])
def test_addresses_of_the_first_fabric_are_told_without_a_name(find: Any) -> None:
    diff = find(plan("two-machines"), plan("two-machines", _FIRST_MOVED))

    assert [rail.label for rail in diff.rails] == [str(number) for number in range(8)]
    assert all("a100" not in danger.resource for danger in dangers(diff))


@pytest.mark.parametrize("find", [compared, by_outputs])
def test_a_fabric_that_is_taken_out_loses_its_networks(find: Any) -> None:
    diff = find(plan("two-machines"), plan("two-machines", _ALONE))
    lost = {network for danger in dangers(diff) for network in danger.networks}

    assert lost == {f"a100-rail-{number:02d}" for number in range(8)}
    assert {rail.label for rail in diff.rails} == {f"a100 {number}" for number in range(8)}


@pytest.mark.parametrize("find", [compared, by_outputs])
def test_a_fabric_that_is_added_endangers_no_address(find: Any) -> None:
    diff = find(plan("storage-fabric", {"fabrics": {}}), plan("storage-fabric"))

    assert [danger.component for danger in dangers(diff) if danger.component in ("ip-pools", "networks")] == []
    assert {rail.label for rail in diff.rails} == {"storage 0", "storage 1"}


def test_every_fabric_is_drawn() -> None:
    drawn = drawn_fabrics(rendered(plan("storage-fabric")))

    assert {name: None if one is None else len(one.rails) for name, one in drawn.items()} == {"": 8, "storage": 2}
    assert all(one is not None and len(one.places) == 2 for one in drawn.values())
