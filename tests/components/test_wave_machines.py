"""Machines that are replaced in waves: which are due, what a successor is, what stops them, and what a kill leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from played_oracle import PlayedOracle
from played_waves import HOOK, SOFTWARE, PlayedCluster, planned

from components import oke_pools, wave_machines, waves
from components.cluster_api import ClusterApi, RequestError
from components.oke_pools import OkePools, ask_oracle
from components.waiting import NodesError
from components.wave_machines import WaveMachines
from components.wave_marks import UPGRADED
from gpu_fabric.plan.records import PlannedMachines

pytestmark = pytest.mark.components

MACHINES = PlannedMachines(
    compartment="compartment-1", region="us-chicago-1", pools=("gpu",), namespace=SOFTWARE, name="replaced-machines"
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "_PAUSE", 0.0)
    monkeypatch.setattr(waves, "_STEADY", 0.0)
    monkeypatch.setattr(wave_machines, "_PAUSE", 0.0)


def run(cluster: PlayedCluster, oracle: PlayedOracle, **changes: Any) -> list[str]:
    """What was said until the waves ended."""
    said: list[str] = []
    api = cast("ClusterApi", cluster)
    machines = WaveMachines(MACHINES, api, OkePools(MACHINES, "cluster-1", oracle))
    wish = planned(machines=MACHINES, **changes)
    asyncio.run(waves.change_nodes(wish, api, said.append, machines))
    return said


def stopped(cluster: PlayedCluster, oracle: PlayedOracle, **changes: Any) -> str:
    with pytest.raises(NodesError) as raised:
        run(cluster, oracle, **changes)
    return str(raised.value)


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


def test_machines_that_are_as_their_pool_makes_them_are_left_alone() -> None:
    cluster = PlayedCluster("a", "b")
    oracle = PlayedOracle(cluster)
    run(cluster, oracle)
    assert oracle.orders == []
    assert sorted(cluster.nodes) == ["a", "b"]


def test_each_machine_of_an_older_version_makes_room_for_one_that_is_proven_before_the_next_goes() -> None:
    cluster, oracle = older_than_its_pool("a", "b", "c")
    least = [3]
    items = cluster.items

    def counted(collection: str, selector: str) -> list[dict[str, Any]]:
        least.append(len(cluster.nodes) - len(cluster.cordoned()))
        return items(collection, selector)

    cluster.items = counted  # type: ignore[method-assign]
    run(cluster, oracle)
    assert oracle.orders == ["a", "b", "c"]
    assert min(least) == 2
    assert_all_are_new(cluster, oracle, 3)


def test_a_percentage_replaces_as_many_machines_at_a_time() -> None:
    cluster, oracle = older_than_its_pool("a", "b", "c", "d")
    least = [4]
    items = cluster.items

    def counted(collection: str, selector: str) -> list[dict[str, Any]]:
        least.append(len(cluster.nodes) - len(cluster.cordoned()))
        return items(collection, selector)

    cluster.items = counted  # type: ignore[method-assign]
    run(cluster, oracle, percent=50)
    assert min(least) == 2
    assert_all_are_new(cluster, oracle, 4)


def test_another_image_of_the_pool_replaces_machines_too() -> None:
    cluster = PlayedCluster("a", "b")
    oracle = PlayedOracle(cluster)
    oracle.image = "image-2"
    run(cluster, oracle)
    assert oracle.orders == ["a", "b"]
    assert {oracle.images[machine] for machine in oracle.machines()} == {"image-2"}


def test_a_kubelet_that_is_newer_than_its_pool_is_no_reason_to_replace() -> None:
    cluster = PlayedCluster("a")
    oracle = PlayedOracle(cluster, version="v1.34.10")
    oracle.version = "v1.34.9"
    run(cluster, oracle)
    assert oracle.orders == []


def test_a_machine_is_not_ordered_away_while_a_job_runs_on_its_node() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    cluster.job("train", "a")
    message = stopped(cluster, oracle)
    assert "jobs still run 1 minutes after it was cordoned: default/train" in message
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
    assert oracle.orders == ["a"]
    assert "Out of host capacity" in stopped(cluster, oracle)
    assert oracle.orders == ["a"]
    oracle.launches = True
    run(cluster, oracle)
    assert oracle.orders == ["a", "b"]
    assert_all_are_new(cluster, oracle, 2)


def test_a_successor_of_the_version_of_before_stops_the_waves_at_the_first_node() -> None:
    cluster, oracle = older_than_its_pool("a", "b")
    oracle.comes_as = "v1.33.1"
    message = stopped(cluster, oracle)
    assert "its kubelet is v1.33.1, and its pool makes v1.34.1" in message
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


def test_oracle_is_asked_again_while_it_is_busy_with_the_pool() -> None:
    cluster, oracle = older_than_its_pool("a")
    oracle.busy = 3
    run(cluster, oracle)
    assert oracle.orders == ["a"]
    assert_all_are_new(cluster, oracle, 1)


@pytest.mark.parametrize(("nodes", "at_a_time"), [("ab", 1), ("ab", 2), ("abcd", 3)])
@pytest.mark.parametrize("requests", range(3, 90, 3))
def test_a_run_that_is_killed_anywhere_is_taken_up_and_no_machine_is_replaced_twice(
    requests: int, nodes: str, at_a_time: int
) -> None:
    cluster, oracle = older_than_its_pool(*nodes)
    # A job keeps one node for a while, so that they do not go together.
    cluster.job("train", "b")
    ends = requests // 2
    left = [requests]
    tick = cluster._tick

    def interrupted() -> None:
        left[0] -= 1
        if left[0] == ends:
            cluster.pods.pop("/api/v1/namespaces/default/pods/train", None)
        if left[0] == 0:
            raise KeyboardInterrupt
        tick()

    cluster._tick = interrupted  # type: ignore[method-assign]
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
    tick = cluster._tick

    def ticked() -> None:
        if oracle.orders == ["a"] and len(cluster.nodes) == 2:
            cluster.pods.pop("/api/v1/namespaces/default/pods/train", None)
        tick()

    cluster._tick = ticked  # type: ignore[method-assign]
    said = run(cluster, oracle, nodes_at_a_time=2, node_seconds=600)
    assert oracle.orders[:2] == ["a", "b"]
    assert {line.rpartition(" ")[2] for line in said if "has come in the place of" in line} == {"a", "b", "c"}
    assert_all_are_new(cluster, oracle, 3)


def test_a_login_that_oracle_refuses_ends_the_run_before_a_node_is_cordoned() -> None:
    cluster, oracle = older_than_its_pool("a")

    def refused(*_words: str) -> Any:
        raise RequestError(401, "`oci ce node-pool list` failed: NotAuthenticated: wrong key")

    cluster_api = cast("ClusterApi", cluster)
    machines = WaveMachines(MACHINES, cluster_api, OkePools(MACHINES, "cluster-1", refused))
    with pytest.raises(NodesError, match="NotAuthenticated"):
        asyncio.run(waves.change_nodes(planned(machines=MACHINES), cluster_api, print, machines))
    assert cluster.cordoned() == []
    assert oracle.orders == []


def test_a_successor_that_a_run_without_machines_has_met_is_not_awaited_again() -> None:
    cluster, oracle = older_than_its_pool("a")
    oracle.launches = False
    stopped(cluster, oracle)
    oracle.launches = True
    while not cluster.nodes:
        cluster._tick()
    asyncio.run(waves.change_nodes(planned(), cast("ClusterApi", cluster), print))
    assert cluster.kept
    run(cluster, oracle)
    assert_all_are_new(cluster, oracle, 1)
    assert oracle.orders == ["a"]


def test_a_pool_that_oracle_does_not_list_is_an_error_and_not_one_without_old_machines() -> None:
    cluster, oracle = older_than_its_pool("a")
    oracle.pool = "of-another-name"
    assert "Oracle lists no node pool gpu of this cluster" in stopped(cluster, oracle)
    assert cluster.cordoned() == []


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


def test_a_machine_without_the_command_line_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RequestError, match="oci is not on PATH"):
        ask_oracle("ce", "node-pool", "list")
