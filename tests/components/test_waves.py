"""The waves against a played cluster: what is waited for, what stops them, which machines go, what a kill leaves."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from played_waves import HOOK, SOFTWARE, PlayedCluster, PlayedOracle, planned

from components.engine.cluster_api import ClusterApi, RequestError
from components.engine.waiting import NodesError
from components.engine.waves import machines as machines_in_waves
from components.engine.waves import oke_pools, rollout
from components.engine.waves.machines import WaveMachines
from components.engine.waves.marks import PROVE, PROVED, UPGRADED, WAVE
from components.engine.waves.oke_pools import OkePools, ask_oracle
from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.plan.records import PlannedMachines

MACHINES = PlannedMachines(
    compartment="compartment-1", region="us-chicago-1", pools=("gpu",), namespace=SOFTWARE, name="replaced-machines"
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "_PAUSE", 0.0)
    monkeypatch.setattr(rollout, "_STEADY", 0.0)
    monkeypatch.setattr(machines_in_waves, "_PAUSE", 0.0)


def run(cluster: PlayedCluster, oracle: Any = None, **changes: Any) -> list[str]:
    """What was said until the waves ended; with Oracle's command line, machines are replaced, too."""
    said: list[str] = []
    api = cast("ClusterApi", cluster)
    machines = None if oracle is None else WaveMachines(MACHINES, api, OkePools(MACHINES, "cluster-1", oracle))
    wish = planned(**changes) if oracle is None else planned(machines=MACHINES, **changes)
    asyncio.run(rollout.change_nodes(wish, api, said.append, machines))
    return said


def stopped(cluster: PlayedCluster, oracle: Any = None, **changes: Any) -> str:
    with pytest.raises(NodesError) as raised:
        run(cluster, oracle, **changes)
    return str(raised.value)


def upgraded(*nodes: str, job: str = "") -> PlayedCluster:
    """Nodes whose driver has another template; a job runs on one of them."""
    cluster = PlayedCluster(*nodes)
    cluster.upgrade()
    if job:
        cluster.job("train", job)
    return cluster


def test_nodes_that_need_nothing_are_only_marked_with_the_revision() -> None:
    cluster = PlayedCluster("a", "b")
    run(cluster)
    assert cluster.log == []
    assert [node["metadata"]["annotations"] for node in cluster.nodes.values()] == [{UPGRADED: "r1"}] * 2


def test_each_node_gets_its_new_driver_and_then_its_plugin_again_one_after_another() -> None:
    cluster = upgraded("a", "b")
    run(cluster)
    assert cluster.log == ["delete driver-a", "delete plugin-a", "delete driver-b", "delete plugin-b"]
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == []
    assert not any(WAVE in node["metadata"]["annotations"] for node in cluster.nodes.values())


@pytest.mark.parametrize(
    ("size", "most"), [({}, 1), ({"nodes_at_a_time": 2}, 2), ({"percent": 50}, 2), ({"percent": 10}, 1)]
)
def test_no_more_nodes_are_cordoned_at_a_time_than_a_wave_has(size: dict[str, int], most: int) -> None:
    cluster, seen = upgraded("a", "b", "c", "d"), [0]
    cluster.meanwhile.append(lambda: seen.append(len(cluster.cordoned())))
    run(cluster, **size)
    assert max(seen) == most


def test_jobs_that_outlast_the_deadline_stop_the_waves_and_are_left_alone() -> None:
    cluster = upgraded("a", "b", job="a")
    assert "jobs still run 1 minutes after it was cordoned: default/train" in stopped(cluster, job_seconds=60)
    assert cluster.cordoned() == ["a"]
    assert cluster.log == []
    assert cluster.versions() == {"a": "driver-1", "b": "driver-1"}


def test_jobs_are_evicted_after_the_deadline_where_the_stack_says_so_and_a_budget_allows_it() -> None:
    cluster = upgraded("a", job="a")
    cluster.budgets.add("train")
    assert "these pods were not evicted: default/train" in stopped(cluster, evict=True, job_seconds=0)
    cluster.budgets.clear()
    run(cluster, evict=True, job_seconds=60)
    assert cluster.log == ["delete train", "delete driver-a", "delete plugin-a"]


def test_a_node_that_is_not_proven_stops_the_waves_and_a_later_run_goes_on_there() -> None:
    cluster = upgraded("a", "b", "c")
    cluster.bad.add("b")
    message = stopped(cluster)
    assert "the waves stopped at b, which stays cordoned; 1 more nodes" in message
    assert "b: it offers 0 of 8 example.com/rail" in message
    assert cluster.cordoned() == ["b"]
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2", "c": "driver-1"}
    # The second run finds nothing else.
    assert "b: it offers 0 of 8" in stopped(cluster)
    cluster.bad.clear()
    run(cluster)
    assert cluster.cordoned() == []
    assert cluster.versions() == dict.fromkeys("abc", "driver-2")


def test_a_node_that_others_have_cordoned_is_changed_and_stays_cordoned() -> None:
    cluster = upgraded("a", "b")
    cluster.nodes["b"]["spec"]["unschedulable"] = True
    run(cluster)
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == ["b"]


def kill_after(cluster: PlayedCluster, requests: int, jobs_end_before: int) -> None:
    """The run is killed at a request; jobs end some requests before."""
    left = [requests]

    def count() -> None:
        left[0] -= 1
        if left[0] == jobs_end_before:
            cluster.end_jobs()
        if left[0] == 0:
            raise KeyboardInterrupt

    cluster.meanwhile.append(count)


@pytest.mark.parametrize("requests", range(4, 40, 3))
def test_a_run_that_is_interrupted_anywhere_is_taken_up_by_the_next(requests: int) -> None:
    cluster = upgraded("a", "b", job="a")
    kill_after(cluster, requests, 20)
    with pytest.raises(KeyboardInterrupt):
        run(cluster)
    cluster.end_jobs()
    run(cluster)
    assert cluster.versions() == {"a": "driver-2", "b": "driver-2"}
    assert cluster.cordoned() == []


def test_the_hook_runs_once_on_each_node_before_its_driver_is_replaced() -> None:
    cluster = upgraded("a", "b")
    run(cluster, hook=HOOK)
    assert cluster.log[:4] == ["hook on a", "delete hook-a", "delete driver-a", "delete plugin-a"]
    cluster.log.clear()
    run(cluster, hook=HOOK)
    assert cluster.log == []


def test_a_hook_that_fails_stops_the_waves_and_runs_again_in_the_next_run() -> None:
    cluster = PlayedCluster("a", "b")
    cluster.hook_fails.add("a")
    assert "a: its hook failed: see `kubectl logs -n operators hook-a`" in stopped(cluster, hook=HOOK)
    assert cluster.cordoned() == ["a"]
    cluster.hook_fails.clear()
    run(cluster, hook=HOOK)
    assert cluster.cordoned() == []


def test_other_versions_that_change_nothing_on_nodes_are_proven_without_a_cordon() -> None:
    cluster = PlayedCluster("a", "b")
    run(cluster)
    cluster.job("train", "a")
    assert "node a is proven again" in run(cluster, revision="r2")
    assert cluster.log == []
    cluster.nodes["b"]["status"]["allocatable"] = {}
    assert "b: it offers 0 of 8" in stopped(cluster, revision="r3")
    assert cluster.cordoned() == ["b"]


def test_a_check_that_writes_the_nodes_condition_is_asked_and_believed() -> None:
    assert "a: its check has not answered" in stopped(upgraded("a"), by_condition=True)

    def checked(status: str, reason: str = "RailDown") -> PlayedCluster:
        cluster = upgraded("a")
        found = cluster.nodes["a"]
        condition = {"type": FABRIC_READY, "status": status, "reason": reason, "message": "rail 3 is down"}

        def check() -> None:
            if (token := found["metadata"]["annotations"].get(PROVE)) is not None:
                found["metadata"]["annotations"][PROVED] = token
                found["status"]["conditions"] = [found["status"]["conditions"][0], condition]

        cluster.meanwhile.append(check)
        return cluster

    failing, passing = checked("False"), checked("True")
    assert f"a: {FABRIC_READY} is False: RailDown rail 3 is down" in stopped(failing, by_condition=True)
    run(passing, by_condition=True)
    assert (failing.cordoned(), passing.cordoned()) == (["a"], [])
    closed = checked("True", "RailsClosed")
    assert "a: rails are closed: rail 3 is down" in stopped(closed, by_condition=True)


def test_credentials_that_are_refused_end_the_run_at_once() -> None:
    cluster = PlayedCluster("a")

    def refuse() -> None:
        raise RequestError(403, "nodes is forbidden")

    cluster.meanwhile.append(refuse)
    assert "the waves ended: nodes is forbidden" in stopped(cluster)


# Machines that are replaced


def older_than_its_pool(*nodes: str) -> tuple[PlayedCluster, PlayedOracle]:
    """Nodes of a pool that has been given another version since."""
    cluster = PlayedCluster(*nodes)
    oracle = PlayedOracle(cluster)
    oracle.version = "v1.34.1"
    return cluster, oracle


def assert_all_are_new(cluster: PlayedCluster, oracle: PlayedOracle, number: int) -> None:
    assert list(oracle.machines().values()) == ["v1.34.1"] * number
    assert cluster.cordoned() == []
    assert cluster.kept == {}
    assert [node["metadata"]["annotations"] for node in cluster.nodes.values()] == [{UPGRADED: "r1"}] * number


@pytest.mark.parametrize(("made", "pools"), [("v1.33.1", "v1.33.1"), ("v1.34.10", "v1.34.9")])
def test_machines_that_are_as_their_pool_makes_them_or_newer_are_left_alone(made: str, pools: str) -> None:
    cluster = PlayedCluster("a", "b")
    oracle = PlayedOracle(cluster, version=made)
    oracle.version = pools
    run(cluster, oracle)
    assert oracle.orders == []
    assert sorted(cluster.nodes) == ["a", "b"]


@pytest.mark.parametrize(("size", "least"), [({}, 3), ({"percent": 50}, 2)])
def test_each_machine_of_an_older_version_makes_room_for_one_that_is_proven_before_the_next_goes(
    size: dict[str, int], least: int
) -> None:
    cluster, oracle = older_than_its_pool("a", "b", "c", "d")
    working = [4]
    cluster.meanwhile.append(lambda: working.append(len(cluster.nodes) - len(cluster.cordoned())))
    run(cluster, oracle, **size)
    assert oracle.orders == ["a", "b", "c", "d"]
    assert min(working) == least
    assert_all_are_new(cluster, oracle, 4)


def test_another_image_of_the_pool_replaces_machines_too() -> None:
    cluster = PlayedCluster("a", "b")
    oracle = PlayedOracle(cluster)
    oracle.image = "image-2"
    run(cluster, oracle)
    assert oracle.orders == ["a", "b"]
    assert {oracle.images[machine] for machine in oracle.machines()} == {"image-2"}


def test_a_machine_is_not_ordered_away_while_a_job_runs_on_its_node() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    cluster.job("train", "a")
    assert "jobs still run 1 minutes after it was cordoned: default/train" in stopped(cluster, oracle)
    assert oracle.orders == []
    assert cluster.cordoned() == ["a"]


def test_nothing_is_done_on_a_machine_that_goes_and_the_hook_runs_on_its_successor() -> None:
    cluster, oracle = older_than_its_pool("a")
    cluster.upgrade()
    run(cluster, oracle, hook=HOOK)
    assert "delete driver-a" not in cluster.log
    assert [line for line in cluster.log if line.startswith("hook")] == [f"hook on {name}" for name in cluster.nodes]


def test_a_pool_that_gets_no_other_machine_stops_the_waves_with_oracles_reason_and_a_later_run_goes_on() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    oracle.launches = False
    message = stopped(cluster, oracle)
    assert "the waves stopped at a, whose machine is gone; 1 more nodes" in message
    assert "a: no other node has joined pool gpu in its place; Oracle says: Out of host capacity." in message
    assert "Out of host capacity" in stopped(cluster, oracle)
    assert oracle.orders == ["a"]
    oracle.launches = True
    oracle.busy = 3
    run(cluster, oracle)
    assert oracle.orders == ["a", "b"]
    assert_all_are_new(cluster, oracle, 2)


def test_a_successor_of_the_version_of_before_stops_the_waves_at_the_first_node() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    oracle.comes_as = "v1.33.1"
    assert "its kubelet is v1.33.1, and its pool makes v1.34.1" in stopped(cluster, oracle)
    assert oracle.orders == ["a"]
    assert cluster.cordoned() == [name for name in cluster.nodes if name != "b"]


def test_a_successor_that_is_not_proven_stays_cordoned_and_stops_the_waves() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    cluster.bad |= {f"new-{number}" for number in range(9)}
    message = stopped(cluster, oracle)
    (successor,) = [name for name in cluster.nodes if name != "b"]
    assert f"{successor}: it offers 0 of 8 example.com/rail" in message
    assert oracle.orders == ["a"]
    assert cluster.cordoned() == [successor]
    cluster.bad.clear()
    run(cluster, oracle)
    assert_all_are_new(cluster, oracle, 2)


@pytest.mark.parametrize(("nodes", "at_a_time"), [("ab", 1), ("ab", 2), ("abcd", 3)])
@pytest.mark.parametrize("requests", range(3, 90, 3))
def test_a_run_that_is_killed_anywhere_is_taken_up_and_no_machine_is_replaced_twice(
    requests: int, nodes: str, at_a_time: int
) -> None:
    cluster, oracle = older_than_its_pool(*nodes)
    # A job keeps one node for a while, so that they do not go together.
    cluster.job("train", "b")
    kill_after(cluster, requests, requests // 2)
    try:
        run(cluster, oracle, nodes_at_a_time=at_a_time)
    except KeyboardInterrupt:
        run(cluster, oracle, nodes_at_a_time=at_a_time)
    assert sorted(oracle.orders) == list(nodes)
    assert_all_are_new(cluster, oracle, len(nodes))


def test_a_machine_that_goes_while_another_is_awaited_is_awaited_itself() -> None:
    cluster, oracle = older_than_its_pool("a", "b", "c")
    oracle.delay = 60
    cluster.job("train", "b")

    def end() -> None:
        if oracle.orders == ["a"] and len(cluster.nodes) == 2:
            cluster.end_jobs()

    cluster.meanwhile.append(end)
    said = run(cluster, oracle, nodes_at_a_time=2, node_seconds=600)
    assert oracle.orders[:2] == ["a", "b"]
    assert {line.rpartition(" ")[2] for line in said if "has come in the place of" in line} == {"a", "b", "c"}
    assert_all_are_new(cluster, oracle, 3)


def test_a_successor_that_a_run_without_machines_has_met_is_not_awaited_again() -> None:
    cluster, oracle = older_than_its_pool("a")
    oracle.launches = False
    stopped(cluster, oracle)
    oracle.launches = True
    while not cluster.nodes:
        cluster.tick()
    run(cluster)
    assert cluster.kept
    run(cluster, oracle)
    assert_all_are_new(cluster, oracle, 1)
    assert oracle.orders == ["a"]


def test_a_login_that_oracle_refuses_and_a_pool_that_it_does_not_list_end_the_run_before_a_node_is_cordoned() -> None:
    cluster, oracle = older_than_its_pool("a")

    def refused(*_words: str) -> Any:
        raise RequestError(401, "`oci ce node-pool list` failed: NotAuthenticated: wrong key")

    assert "NotAuthenticated" in stopped(cluster, refused)
    oracle.pool = "of-another-name"
    assert "Oracle lists no node pool gpu of this cluster" in stopped(cluster, oracle)
    assert (cluster.cordoned(), oracle.orders) == ([], [])


# Oracle's command line

REFUSED = """ServiceError:
{
    "client_version": "Oracle-PythonSDK/2.155.0",
    "code": "IncorrectState",
    "message": "The node pool is being updated",
    "opc-request-id": "secret-id",
    "status": 409
}
"""


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    program = folder / "oci"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_command_line_is_asked_for_json_and_may_print_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path(monkeypatch, tmp_path, 'printf \'{"data": "%s"}\' "$*"')
    assert ask_oracle("ce", "node-pool", "list") == {"data": "ce node-pool list --output json"}
    on_path(monkeypatch, tmp_path, "true")
    assert ask_oracle("ce", "node-pool", "list") is None


def test_of_a_refusal_status_code_and_message_are_repeated_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path(monkeypatch, tmp_path, f"cat >&2 <<'END'\n{REFUSED}END\nexit 1")
    with pytest.raises(RequestError) as raised:
        ask_oracle("ce", "node-pool", "delete-node", "--node-pool-id", "x")
    assert raised.value.status == 409
    assert str(raised.value) == (
        "`oci ce node-pool delete-node` failed: IncorrectState: The node pool is being updated"
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no >&2; exit 2", "failed: run it to see why"),
        ("echo hello", "printed no JSON"),
        ("sleep 9", "TimeoutExpired"),
    ],
)
def test_a_command_line_that_gives_no_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    monkeypatch.setattr(oke_pools, "_LIMIT", 1)
    on_path(monkeypatch, tmp_path, script)
    with pytest.raises(RequestError, match=message):
        ask_oracle("ce", "node-pool", "list")
