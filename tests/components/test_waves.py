"""The waves against a played cluster: what is waited for, what stops them, and what a later run makes of that."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from played_waves import HOOK, PlayedCluster, planned

from components import waves
from components.cluster_api import ClusterApi, RequestError
from components.waiting import NodesError
from components.wave_marks import FABRIC_READY, PROVE, PROVED, UPGRADED, WAVE
from gpu_fabric.plan.records import PlannedWaves

pytestmark = pytest.mark.components


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "_PAUSE", 0.0)
    monkeypatch.setattr(waves, "_STEADY", 0.0)


def run(cluster: PlayedCluster, wish: PlannedWaves) -> list[str]:
    """What was said until the waves ended."""
    said: list[str] = []
    asyncio.run(waves.change_nodes(wish, cast("ClusterApi", cluster), said.append))
    return said


def stopped(cluster: PlayedCluster, wish: PlannedWaves) -> str:
    with pytest.raises(NodesError) as raised:
        run(cluster, wish)
    return str(raised.value)


def test_nodes_that_need_nothing_are_only_marked_with_the_revision() -> None:
    cluster = PlayedCluster("a", "b")
    run(cluster, planned())
    assert cluster.log == []
    assert [node["metadata"]["annotations"] for node in cluster.nodes.values()] == [{UPGRADED: "r1"}] * 2


def test_each_node_gets_its_new_driver_and_then_its_plugin_again_one_after_another() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.upgrade()
    run(cluster, planned())
    assert cluster.log == ["delete driver-a", "delete plugin-a", "delete driver-b", "delete plugin-b"]
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == []
    assert not any(WAVE in node["metadata"]["annotations"] for node in cluster.nodes.values())


@pytest.mark.parametrize(
    ("size", "most"), [({}, 1), ({"nodes_at_a_time": 2}, 2), ({"percent": 50}, 2), ({"percent": 10}, 1)]
)
def test_no_more_nodes_are_cordoned_at_a_time_than_a_wave_has(size: dict[str, int], most: int) -> None:
    cluster, seen = PlayedCluster("a", "b", "c", "d"), [0]
    cluster.upgrade()
    items = cluster.items

    def counted(collection: str, selector: str) -> list[dict[str, Any]]:
        seen.append(len(cluster.cordoned()))
        return items(collection, selector)

    cluster.items = counted  # type: ignore[method-assign]
    run(cluster, planned(**size))
    assert max(seen) == most


def test_jobs_that_outlast_the_deadline_stop_the_waves_and_are_left_alone() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.upgrade()
    cluster.job("train", "a")
    message = stopped(cluster, planned(job_seconds=60))
    assert "jobs still run 1 minutes after it was cordoned: default/train" in message
    assert cluster.cordoned() == ["a"]
    assert cluster.log == []
    assert cluster.versions() == {"a": "driver-1", "b": "driver-1"}


def test_jobs_are_evicted_after_the_deadline_where_the_stack_says_so() -> None:
    cluster = PlayedCluster("a")
    cluster.upgrade()
    cluster.job("train", "a")
    run(cluster, planned(evict=True, job_seconds=60))
    assert cluster.log == ["delete train", "delete driver-a", "delete plugin-a"]


def test_a_pod_that_a_disruption_budget_keeps_stops_the_waves() -> None:
    cluster = PlayedCluster("a")
    cluster.upgrade()
    cluster.job("train", "a")
    cluster.budgets.add("train")
    assert "these pods were not evicted: default/train" in stopped(cluster, planned(evict=True, job_seconds=0))


def test_a_node_that_is_not_proven_stops_the_waves_and_a_later_run_goes_on_there() -> None:
    cluster = PlayedCluster("a", "b", "c")
    cluster.upgrade()
    cluster.bad.add("b")
    message = stopped(cluster, planned())
    assert "the waves stopped at b, which stays cordoned; 1 more nodes" in message
    assert "b: it offers 0 of 8 example.com/rail" in message
    assert cluster.cordoned() == ["b"]
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2", "c": "driver-1"}
    # The second run finds nothing else.
    assert "b: it offers 0 of 8" in stopped(cluster, planned())
    cluster.bad.clear()
    run(cluster, planned())
    assert cluster.cordoned() == []
    assert cluster.versions() == dict.fromkeys("abc", "driver-2")


def test_a_node_that_others_have_cordoned_is_changed_and_stays_cordoned() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.upgrade()
    cluster.nodes["b"]["spec"]["unschedulable"] = True
    run(cluster, planned())
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == ["b"]


@pytest.mark.parametrize("requests", range(4, 40, 3))
def test_a_run_that_is_interrupted_anywhere_is_taken_up_by_the_next(requests: int) -> None:
    cluster = PlayedCluster("a", "b")
    cluster.upgrade()
    cluster.job("train", "a")
    left = [requests]
    tick = cluster._tick

    def interrupted() -> None:
        left[0] -= 1
        if left[0] == 20:
            cluster.pods.pop("/api/v1/namespaces/default/pods/train", None)
        if left[0] == 0:
            raise KeyboardInterrupt
        tick()

    cluster._tick = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(cluster, planned())
    cluster.pods.pop("/api/v1/namespaces/default/pods/train", None)
    run(cluster, planned())
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == []


def test_the_hook_runs_once_on_each_node_before_its_driver_is_replaced() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.upgrade()
    run(cluster, planned(hook=HOOK))
    assert cluster.log[:4] == ["hook on a", "delete hook-a", "delete driver-a", "delete plugin-a"]
    cluster.log.clear()
    run(cluster, planned(hook=HOOK))
    assert cluster.log == []


def test_a_hook_that_fails_stops_the_waves_and_runs_again_in_the_next_run() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.hook_fails.add("a")
    assert "a: its hook failed: see `kubectl logs -n operators hook-a`" in stopped(cluster, planned(hook=HOOK))
    assert cluster.cordoned() == ["a"]
    cluster.hook_fails.clear()
    run(cluster, planned(hook=HOOK))
    assert cluster.cordoned() == []


def test_other_versions_that_change_nothing_on_nodes_are_proven_without_a_cordon() -> None:
    cluster = PlayedCluster("a", "b")
    run(cluster, planned())
    cluster.job("train", "a")
    said = run(cluster, planned(revision="r2"))
    assert "node a is proven again" in said
    assert cluster.log == []
    cluster.nodes["b"]["status"]["allocatable"] = {}
    assert "b: it offers 0 of 8" in stopped(cluster, planned(revision="r3"))
    assert cluster.cordoned() == ["b"]


@pytest.mark.parametrize(("status", "failing"), [("True", False), ("False", True)])
def test_a_check_that_writes_the_nodes_condition_is_asked_and_believed(status: str, failing: bool) -> None:
    cluster = PlayedCluster("a")
    cluster.upgrade()
    items = cluster.items

    def checked(collection: str, selector: str) -> list[dict[str, Any]]:
        node = cluster.nodes["a"]
        if (token := node["metadata"]["annotations"].get(PROVE)) is not None:
            node["metadata"]["annotations"][PROVED] = token
            condition = {"type": FABRIC_READY, "status": status, "reason": "RailDown", "message": "rail 3 is down"}
            node["status"]["conditions"] = [node["status"]["conditions"][0], condition]
        return items(collection, selector)

    cluster.items = checked  # type: ignore[method-assign]
    if failing:
        assert f"a: {FABRIC_READY} is False: RailDown rail 3 is down" in stopped(cluster, planned(by_condition=True))
    else:
        run(cluster, planned(by_condition=True))
    assert cluster.cordoned() == (["a"] if failing else [])


def test_a_check_that_never_answers_stops_the_waves() -> None:
    cluster = PlayedCluster("a")
    cluster.upgrade()
    assert "a: its check has not answered" in stopped(cluster, planned(by_condition=True))


def test_credentials_that_are_refused_end_the_run_at_once() -> None:
    cluster = PlayedCluster("a")

    def refused(_collection: str, _selector: str) -> list[dict[str, Any]]:
        raise RequestError(403, "nodes is forbidden")

    cluster.items = refused  # type: ignore[method-assign]
    assert "the waves ended: nodes is forbidden" in stopped(cluster, planned())
