"""The plan's steps: their order, their edges, and what a new operator is."""

from collections.abc import Callable
from typing import get_args

import pytest
from changes import Changes
from committed_stacks import stack_names
from diff_edits import plan_of
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import Namespace
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.plan.records import Item, PlannedObject
from gpu_fabric.plan.steps import NODES, Step, in_order
from gpu_fabric.resources.order import MADE_OF

LINES = catalog().releases
ITEM = PlannedObject(object=Namespace(metadata=ObjectMeta(name="some")))


def step(name: str, *after: str, empty: bool = False) -> Step:
    return Step(name=name, component=name, kind="rdma:Some", items=() if empty else (ITEM,), after=after)


def names(*steps: Step) -> list[str]:
    return [entry.name for entry in in_order(steps)]


def test_a_step_comes_after_all_that_it_names_and_else_where_it_is_listed() -> None:
    assert names(step("c", "a"), step("b"), step("a")) == ["a", "c", "b"]


def test_a_step_without_items_is_none_and_nothing_to_wait_for() -> None:
    assert names(step("a", "b"), step("b", empty=True)) == ["a"]


def test_steps_that_wait_for_each_other_are_an_error_that_names_them() -> None:
    with pytest.raises(ValueError, match="in a circle: a, b"):
        in_order([step("a", "b"), step("b", "a"), step("c")])


@pytest.mark.parametrize("taken", ["a", NODES])
def test_two_steps_of_one_name_are_an_error(taken: str) -> None:
    with pytest.raises(ValueError, match=f"two steps are called {taken}"):
        in_order([step("a"), step(taken)])


@given(st.permutations(range(8)), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_no_order_of_listing_breaks_an_edge(listed: list[int], pairs: set[tuple[int, int]]) -> None:
    after = {number: [str(low) for low, high in pairs if low < high == number] for number in range(8)}
    found = names(*(step(str(number), *after[number]) for number in listed))
    assert all(found.index(name) < found.index(str(number)) for number in after for name in after[number])


@pytest.mark.parametrize("stack", stack_names())
def test_every_committed_stack_shows_its_steps_each_after_those_that_it_names(stack: str) -> None:
    seen = {NODES}
    for entry in plan_of(stack, {}).steps:
        assert set(entry.after) <= seen, entry.name
        seen.add(entry.name)


def test_something_comes_of_every_type_of_item_and_one_operator_brings_each_chart() -> None:
    assert set(get_args(Item)) == MADE_OF.keys()
    assert sorted(chart.name for chart in own_charts()) == sorted(
        {name for one in LINES.values() for name in one.charts}
    )


def test_kueue_comes_after_every_other_chart_that_a_stack_has(plan_with: Callable[[Changes], Plan]) -> None:
    plan = plan_with({"software.schedulers": {"kueue": {}, "jobSet": {}, "leaderWorkerSet": {}, "volcano": {}}})
    kueue = plan.step("kueue")
    assert kueue is not None
    others = {release.name for release in plan.releases} - {"kueue"}
    assert others == {"gpu-operator", "network-operator", "volcano", "jobset", "lws"}
    assert others <= set(kueue.after)
