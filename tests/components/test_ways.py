"""Nodes that waves take from device plug-ins to claims and back: never both on one, no job lost, killed anywhere."""

import asyncio
import random
from typing import cast

import pytest
from played_waves import RESOURCE
from played_ways import PlayedWays, changing

from components.engine.cluster_api import ClusterApi
from components.engine.waiting import NodesError
from components.engine.waves import rollout
from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.plan.records import PlannedWaves


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "_PAUSE", 0.0)
    monkeypatch.setattr(rollout, "_STEADY", 0.0)


def run(cluster: PlayedWays, planned: PlannedWaves) -> list[str]:
    said: list[str] = []
    asyncio.run(rollout.change_nodes(planned, cast("ClusterApi", cluster), said.append))
    return said


def run_with_kills(cluster: PlayedWays, planned: PlannedWaves, chance: random.Random, kills: int) -> int:
    """Run until the waves end, killed at some requests; gives how often that was."""
    left, killed = [0], 0

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    cluster.meanwhile.append(count)
    while True:
        left[0] = chance.randint(1, 60) if killed < kills else -1
        try:
            run(cluster, planned)
        except KeyboardInterrupt:
            killed += 1
        else:
            cluster.meanwhile.remove(count)
            return killed


def keep_jobs_coming(cluster: PlayedWays, chance: random.Random) -> set[str]:
    """Jobs that start on nodes which are not cordoned, each as long as it likes; gives the names of all."""
    started = set[str]()

    def start() -> None:
        free = [name for name in cluster.nodes if name not in cluster.cordoned()]
        if free and len(started) < 12 and chance.random() < 0.1:
            name = f"job-{len(started)}"
            started.add(name)
            cluster.job_of(name, chance.choice(free), chance.randint(1, 60))

    cluster.meanwhile.append(start)
    return started


@pytest.mark.parametrize("seed", range(4))
def test_nodes_change_to_claims_and_back_with_jobs_and_kills_and_never_have_both(seed: int) -> None:
    cluster = PlayedWays("a", "b", "c", seed=seed)
    chance = random.Random(seed)  # noqa: S311 - a repeatable choice is no secret
    jobs, long = keep_jobs_coming(cluster, chance), {"job_seconds": 5000, "node_seconds": 5000, "nodes_at_a_time": 2}
    killed = run_with_kills(cluster, changing("claims", **long), chance, 20)
    assert cluster.ways() == dict.fromkeys("abc", "dranet")
    run_with_kills(cluster, changing("plugin", home="claims", **long), chance, 20)
    assert cluster.ways() == dict.fromkeys("abc", "sriovdp")
    assert killed > 3
    assert cluster.both == set()
    assert cluster.cordoned() == []
    assert jobs == cluster.ended | cluster.ends.keys()
    assert not any(line.startswith("delete job") for line in cluster.log)


def test_the_manager_of_before_takes_back_what_a_killed_run_has_changed() -> None:
    cluster = PlayedWays("a", "b")
    cluster.silent.add("b")
    with pytest.raises(NodesError, match=r"b: dra\.net does not publish 2 of 2 planned NICs, such as 0000:18:00.0"):
        run(cluster, changing("claims"))
    assert cluster.ways() == {"a": "dranet", "b": "dranet"}
    assert cluster.cordoned() == ["b"]
    run(cluster, changing("plugin"))
    assert cluster.ways() == {"a": "sriovdp", "b": "sriovdp"}
    assert (cluster.cordoned(), cluster.both) == ([], set())


def test_a_plug_in_that_does_not_heed_the_label_stops_the_waves_before_any_node_is_touched() -> None:
    cluster = PlayedWays("a")
    cluster.heedless.add("sriovdp")
    with pytest.raises(NodesError, match="no node was touched: DaemonSet sriovdp/sriovdp runs on nodes whatever"):
        run(cluster, changing("claims"))
    assert cluster.cordoned() == []
    assert WAY_LABEL not in cluster.nodes["a"]["metadata"]["labels"]


def test_a_node_that_joins_meanwhile_is_served_as_before_until_its_own_wave() -> None:
    cluster = PlayedWays("a")
    joined = list[str]()

    def join() -> None:
        if not joined and cluster.cordoned():
            cluster.join("new")
            joined.append(cluster.ways()["new"])

    cluster.meanwhile.append(join)
    run(cluster, changing("claims"))
    assert joined == ["sriovdp"]
    assert cluster.ways() == {"a": "dranet", "new": "dranet"}
    assert cluster.both == set()


def test_before_the_change_nodes_get_the_label_of_what_they_have_and_no_wave() -> None:
    cluster = PlayedWays("a")
    cluster.job("train", "a")
    run(cluster, changing("plugin"))
    assert cluster.nodes["a"]["metadata"]["labels"][WAY_LABEL] == "plugin"
    assert cluster.nodes["a"]["status"]["allocatable"] == {RESOURCE: "8"}
    assert cluster.cordoned() == []
