"""Whether pods find room: what nodes have left, and what keeps a pod from a node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_objects import GPU, Object, gpu_node, template

from sandbox.hardware.jobs.room import Room, requests_of, thousandths, written

TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


def spec(gpus: int = 8, **more: Any) -> Object:
    found: Object = template(gpus=gpus, **more)["spec"]
    return found


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [("1", 1000), ("250m", 250), ("1.5", 1500), ("2Ki", 2048000), ("1k", 1000000), ("1e3", 1000000), ("100n", 1)],
)
def test_quantities_are_read_as_kubernetes_writes_them(quantity: str, amount: int) -> None:
    assert thousandths(quantity) == amount


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        thousandths("eight")


@given(st.integers(min_value=0, max_value=10**15))
def test_an_amount_is_read_as_it_was_written(amount: int) -> None:
    assert thousandths(written(amount)) == amount


def test_an_init_container_counts_only_where_it_needs_more_than_all_containers() -> None:
    pod = spec(gpus=2)
    pod["initContainers"] = [{"name": "check", "resources": {"limits": {GPU: "8"}}}]
    assert requests_of(pod) == {GPU: 8000}

    pod["initContainers"][0]["restartPolicy"] = "Always"
    assert requests_of(pod) == {GPU: 10000}


def test_pods_that_run_take_room_and_those_that_are_over_give_it_back() -> None:
    nodes = [gpu_node("gpu-0")]
    bound = {"spec": {**spec(), "nodeName": "gpu-0"}, "status": {"phase": "Running"}}

    assert Room(nodes, [bound]).take([spec()]) == []
    assert Room(nodes, [{**bound, "status": {"phase": "Succeeded"}}]).take([spec()]) == ["gpu-0"]


def test_a_room_is_used_up_by_what_it_takes() -> None:
    room = Room([gpu_node("gpu-0"), gpu_node("gpu-1")], ())

    assert room.copy().take([spec()] * 3) == ["gpu-0", "gpu-1"]
    assert room.take([spec(gpus=4)] * 3) == ["gpu-0", "gpu-0", "gpu-1"]
    assert room.take([spec()]) == []


@pytest.mark.parametrize(
    "more",
    [
        {"tolerations": [{"operator": "Exists"}]},
        {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]},
        {"tolerations": [{"key": GPU, "value": "present"}]},
    ],
)
def test_a_taint_keeps_all_pods_away_but_those_that_tolerate_it(more: dict[str, Any]) -> None:
    room = Room([gpu_node("gpu-0", taints=[TAINT])], ())

    assert room.copy().take([spec()]) == []
    assert room.copy().take([spec(tolerations=[{"key": GPU, "value": "other"}])]) == []
    assert room.copy().take([spec(**more)]) == ["gpu-0"]


def test_selectors_and_affinity_choose_among_nodes() -> None:
    nodes = [gpu_node("gpu-0"), gpu_node("gpu-1", labels={"pool": "gpu"})]
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    assert Room(nodes, ()).take([spec(nodeSelector={"pool": "gpu"})]) == ["gpu-1"]
    assert Room(nodes, ()).take([spec(affinity={"nodeAffinity": required})]) == ["gpu-1"]
    assert Room(nodes, ()).take([spec()], {"pool": None}) == ["gpu-1"]


def test_a_node_that_is_not_ready_or_cordoned_has_no_room() -> None:
    lost, cordoned = gpu_node("gpu-0"), gpu_node("gpu-1")
    lost["status"]["conditions"][0]["status"] = "False"
    cordoned["spec"]["unschedulable"] = True

    assert Room([lost, cordoned], ()).take([spec()]) == []
