"""Machines that join a cluster by themselves: what is waited for, and what is said of those that do not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from programs import STACKS

from components import waiting
from components.cluster.oke_nodes import Look, wait_until_joined
from components.cluster_api import RequestError
from components.waiting import NodesError
from gpu_fabric.plan.clouds.oke.resources import OkeResources, joining_advice
from gpu_fabric.prepare import prepare_stack

pytestmark = pytest.mark.components

Answer = Mapping[str, bool] | RequestError
ALL = {f"gpu-{number}": True for number in range(4)}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)


def planned_of(stack: str) -> OkeResources:
    resources = prepare_stack(stack, STACKS[stack].parent).cluster.oke
    assert resources is not None
    return resources


def looks(*answers: Answer) -> Look:
    """A cluster that gives these answers one after another, and the last one for ever."""
    rest = iter(answers)
    now = [answers[0]]

    def look() -> Mapping[str, bool]:
        now[0] = next(rest, now[0])
        if isinstance(now[0], RequestError):
            raise now[0]
        return now[0]

    return look


def waited(look: Look, stack: str = "oke-h100", seconds: int = 30) -> list[str]:
    said: list[str] = []
    planned = planned_of(stack)
    (pool,) = planned.pools
    advice = joining_advice(planned, pool, "ocid1.cluster.oc1.iad.one")
    asyncio.run(wait_until_joined(pool, seconds, look, said.append, advice))
    return said


def complaint(look: Look, stack: str = "oke-h100") -> str:
    with pytest.raises(NodesError) as raised:
        waited(look, stack, seconds=0)
    return str(raised.value)


def test_it_goes_on_looking_until_all_have_joined_and_are_ready_and_says_only_what_is_new() -> None:
    two, unready = {"gpu-0": True, "gpu-1": True}, {**ALL, "gpu-3": False}
    assert waited(looks(two, two, unready, ALL)) == [
        "pool gpu: 2 of 4 nodes have joined the cluster",
        "3 of 4 nodes of pool gpu are ready",
    ]


def test_machines_that_do_not_join_in_time_are_counted_and_what_may_keep_them_out_is_named() -> None:
    text = complaint(looks({"gpu-0": True}))
    assert "pool gpu: 1 of 4 nodes have joined the cluster" in text
    for part in ("CLUSTER_JOIN", "security rules", "image", "metadata"):
        assert part in text


def test_the_policy_that_lets_machines_join_is_named_in_full_with_the_group_that_it_is_for() -> None:
    text = complaint(looks({}))
    assert (
        "a dynamic group with the rule: ALL {instance.compartment.id = 'ocid1.compartment.oc1..aaaaaaaaexample'}"
        in text
    )
    assert "policy oke-h100-join of the stack says: Allow dynamic-group 'oke-h100-nodes' to {CLUSTER_JOIN} in" in text
    assert "where target.cluster.id = 'ocid1.cluster.oc1.iad.one'" in text


def test_a_node_that_is_not_ready_is_named() -> None:
    assert "gpu-3: it has joined, but is not ready" in complaint(looks({**ALL, "gpu-3": False}))


def test_machines_that_oracle_manages_need_no_policy_to_join() -> None:
    text = complaint(looks({}), "oke-h200")
    assert "CLUSTER_JOIN" not in text
    assert "security rules" in text


def test_a_cluster_that_gives_no_answer_is_waited_for_and_its_words_are_told() -> None:
    silent = RequestError(0, "refused")
    assert "gives no answer: refused" in complaint(looks(silent))
    assert waited(looks(silent, ALL)) == ["pool gpu: the cluster gives no answer: refused"]
