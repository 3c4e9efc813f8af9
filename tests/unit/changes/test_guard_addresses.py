"""Edits after which an address in use is another's, or on another NIC, each with its cause in words.

Which edits are such ones is shown at random in test_guard_at_random.
"""

from typing import Any, NamedTuple

import pytest
from applied_outputs import outputs_of
from changes import Changes
from diff_edits import plan_of, prepared
from rows import rows
from test_guard_footprint import by_outputs, held_against

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.model import Danger
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.changes.software_diff import LINE


class Case(NamedTuple):
    """An edit of a stack that runs; `component` keeps what is lost, and `why` says it."""

    stack: str
    before: Changes
    after: Changes
    component: str = ""
    why: str = ""


STOPPED = {name: Case(*row) for name, row in rows(__file__, "stopped").items()}

PASSING = {name: Case(*row) for name, row in rows(__file__, "passing").items()}


def of_plans(case: Case) -> tuple[Danger, ...]:
    """The dangers by two rendered plans."""
    return dangers(plan_diff(plan_of(case.stack, case.before), plan_of(case.stack, {**case.before, **case.after})))


def of_a_run(case: Case) -> tuple[Danger, ...]:
    """The dangers by the outputs of the last `up`."""
    return by_outputs(case.stack, case.before, {**case.before, **case.after})


@pytest.mark.parametrize("place", [of_plans, of_a_run])
@pytest.mark.parametrize("name", STOPPED)
def test_an_edit_that_takes_an_address_in_use_is_stopped_with_its_cause(name: str, place: Any) -> None:
    case = STOPPED[name]
    found = place(case)
    causes = [danger for danger in found if danger.component == case.component]
    assert causes
    # An allocator that leaves is a loss of its own, and a leap over release lines is stopped for itself as well.
    assert {danger.component for danger in found} - {case.component} <= {"namespaces", LINE}
    if place is of_plans:
        assert case.why in causes[0].why
    assert all(danger.alternative for danger in found)


@pytest.mark.parametrize("place", [of_plans, of_a_run])
@pytest.mark.parametrize("name", PASSING)
def test_an_edit_that_takes_no_address_passes(name: str, place: Any) -> None:
    assert place(PASSING[name]) == ()


def test_the_first_host_that_gets_another_address_is_named_with_both() -> None:
    (danger,) = of_plans(STOPPED["a pool grows before another's hosts"])
    assert danger.why.endswith("such as b1: 172.16.0.203 → 172.16.0.204")


@pytest.mark.parametrize(
    ("name", "stopped"),
    [
        ("from whereabouts to nv-ipam", True),
        ("names of nodes that nv-ipam had numbered", True),
        ("an excluded address of a prefix of nv-ipam", True),
        ("the order of a machine's NICs", False),
        ("a label of the nodes that get addresses", False),
        ("a pool grows before another's hosts", False),
    ],
)
def test_a_record_from_before_allocations_were_in_it_is_held_against_what_it_knows(name: str, stopped: bool) -> None:
    case = STOPPED[name]
    outputs = outputs_of(prepared(case.stack, case.before))
    del outputs["applied"]["allocation"]
    found = dangers(held_against(outputs, prepared(case.stack, {**case.before, **case.after})))
    assert bool(found) is stopped


def test_a_plan_of_an_earlier_version_lacks_what_came_later_and_is_compared_all_the_same() -> None:
    now = plan_of("dev", {})
    later = ("passesOver",)
    pools = [{key: value for key, value in pool.items() if key not in later} for pool in now.proof["pools"]]
    before = now.model_copy(update={"proof": {**now.proof, "pools": pools}})

    assert len(pools[0]) < len(now.proof["pools"][0])
    assert not plan_diff(before, now).loses
