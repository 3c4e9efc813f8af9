"""The gate before jobs: what it waits for, what it excuses, and what it says of nodes that lack a rail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from fast_time import FastTime
from programs import STACKS, run_program, stack_config
from recording import Recording

from components import waiting
from components.cluster_api import RequestError
from components.rdma import capacity
from components.rdma.capacity import Capacity, Look, looking, wait_until_offered
from components.waiting import NodesError
from gpu_fabric.plan.records import PlannedCapacity

pytestmark = pytest.mark.components

RAILS = {"rdma/fabric0": 0, "rdma/fabric1": 1}
ALL = {"rdma/fabric0": "100", "rdma/fabric1": "100", "nvidia.com/gpu": "8"}
ONE = {"rdma/fabric0": "100", "rdma/fabric1": "0"}
NETWORK = "v1:NetworkAttachmentDefinition"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "time", FastTime())


def planned(count: int = 2, seconds: int = 30) -> PlannedCapacity:
    return PlannedCapacity(nodes={"type": "h200"}, count=count, resources=RAILS, timeout=seconds)


def looks(*answers: Capacity) -> Look:
    """A cluster that gives these answers one after another, and the last one for ever."""
    rest: Iterator[Capacity] = iter(answers)
    now = [answers[0]]

    def look() -> Capacity:
        now[0] = next(rest, now[0])
        return now[0]

    return look


def waited(look: Look, **options: int) -> list[str]:
    """What was said until the wait ended."""
    said: list[str] = []
    asyncio.run(wait_until_offered(planned(**options), look, said.append))
    return said


def complaint(look: Look, **options: int) -> str:
    with pytest.raises(NodesError) as raised:
        waited(look, **{"seconds": 1, **options})
    return str(raised.value)


DONE = Capacity({"gpu-a": ALL, "gpu-b": ALL})


def test_nodes_that_offer_every_rail_are_not_waited_for() -> None:
    assert waited(looks(DONE)) == []


def test_gpus_are_waited_for_although_the_policy_says_ready_before_any_node_is_known() -> None:
    gate = PlannedCapacity(nodes={"gpu": "yes"}, count=1, resources={"nvidia.com/gpu": None}, timeout=30)
    known_late = looks(Capacity({}), Capacity({"gpu-a": {}}), Capacity({"gpu-a": {"nvidia.com/gpu": "8"}}))
    said: list[str] = []
    asyncio.run(wait_until_offered(gate, known_late, said.append))

    assert said == ["there are 0 of 1 nodes with the labels {'gpu': 'yes'}", "0 of 1 nodes offer their GPUs"]


def test_a_node_that_never_offers_its_gpus_is_named() -> None:
    gate = PlannedCapacity(nodes={}, count=1, resources={"nvidia.com/gpu": None}, timeout=1)

    with pytest.raises(NodesError, match=r"gpu-a: no nvidia\.com/gpu$"):
        asyncio.run(wait_until_offered(gate, looks(Capacity({"gpu-a": {}})), lambda _: None))


def test_it_goes_on_looking_and_says_only_what_is_new() -> None:
    none, half = Capacity({}), Capacity({"gpu-a": ALL, "gpu-b": {}})
    assert waited(looks(none, none, Capacity({"gpu-a": {}}), half, half, DONE)) == [
        "there are 0 of 2 nodes with the labels {'type': 'h200'}",
        "there are 1 of 2 nodes with the labels {'type': 'h200'}",
        "1 of 2 nodes offer their RDMA devices",
    ]


def test_a_rail_that_is_not_offered_is_named_with_its_node_and_resource() -> None:
    message = complaint(looks(Capacity({"gpu-a": ALL, "gpu-b": ONE})))
    assert "after 1 s not all nodes offer their RDMA devices" in message
    assert "gpu-b: no rdma/fabric1 (rail 1)" in message
    assert "gpu-a" not in message
    assert "fabric0" not in message


def test_nodes_that_never_came_are_counted_and_those_that_lack_something_are_named_too() -> None:
    message = complaint(looks(Capacity({"gpu-a": {}})))
    assert "after 1 s there are 1 of 2 nodes with the labels {'type': 'h200'}" in message
    assert "gpu-a: no rdma/fabric0 (rail 0), no rdma/fabric1 (rail 1)" in message


def test_nodes_beyond_those_that_are_expected_count_as_well() -> None:
    assert "gpu-b: no rdma/fabric1" in complaint(looks(Capacity({"gpu-a": ALL, "gpu-b": ONE})), count=1)


def test_a_nic_that_a_pod_has_is_excused_and_only_on_that_pods_node() -> None:
    taken = {"gpu-b": frozenset({"rdma/fabric1"})}
    assert waited(looks(Capacity({"gpu-a": ALL, "gpu-b": ONE}, taken))) == []
    assert "gpu-a: no rdma/fabric1" in complaint(looks(Capacity({"gpu-a": ONE, "gpu-b": ONE}, taken)))


def test_a_pool_that_may_be_empty_is_not_waited_for() -> None:
    assert waited(looks(Capacity({})), count=0) == []


def test_a_cluster_that_gives_no_answer_is_told_with_its_reason() -> None:
    def silent() -> Capacity:
        raise RequestError(503, "starting")

    assert complaint(silent) == "after 1 s the cluster gives no answer: starting"


# What it looks at


def node(name: str, offered: Mapping[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"allocatable": offered}}


def pod(on: str, *asked: str) -> dict[str, Any]:
    containers = [{"name": "sidecar"}, {"name": "job", "resources": {"limits": dict.fromkeys(asked, "1")}}]
    return {"spec": {"nodeName": on, "containers": containers}}


class Cluster:
    """An API server with nodes and pods; `asked` are the paths that were asked for."""

    def __init__(self, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
        self.nodes, self.pods = nodes, pods
        self.asked: list[str] = []

    def items(self, collection: str, selector: str) -> list[dict[str, Any]]:
        self.asked.append(f"{collection} {selector}")
        return self.nodes

    def request(self, _method: str, path: str) -> dict[str, Any]:
        self.asked.append(path.partition("?")[0])
        return {"items": self.pods}


def seen(cluster: Any) -> Capacity:
    with patch.object(capacity, "api_of", lambda *_: cluster):
        return looking(planned(), "a kubeconfig", None)()


def test_it_asks_for_the_gpu_nodes_alone_and_for_pods_only_where_a_rail_lacks() -> None:
    cluster = Cluster([node("gpu-a", ALL)], [])
    assert seen(cluster).offered == {"gpu-a": ALL}
    assert cluster.asked == ["/api/v1/nodes type=h200"]


def test_it_sees_which_resources_the_pods_of_each_node_ask_for() -> None:
    pods = [
        pod("gpu-a", "rdma/fabric0", "nvidia.com/gpu"),
        pod("gpu-a", "rdma/fabric1"),
        pod("cpu"),
        {"spec": {"containers": []}},
    ]
    found = seen(Cluster([node("gpu-a", ONE)], pods))
    assert found.taken["gpu-a"] == {"rdma/fabric0", "rdma/fabric1", "nvidia.com/gpu"}
    assert found.taken["cpu"] == frozenset()


def test_a_node_that_offers_nothing_yet_is_seen_as_such() -> None:
    assert seen(Cluster([{"metadata": {"name": "gpu-a"}}], [])).offered == {"gpu-a": {}}


def test_a_request_that_fails_is_a_look_without_an_answer() -> None:
    class Silent(Cluster):
        def items(self, collection: str, selector: str) -> list[dict[str, Any]]:
            raise RequestError(503, "starting")

    with pytest.raises(RequestError, match="starting"):
        seen(Silent([], []))


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_end_the_wait_at_once_and_say_what_renews_them(status: int) -> None:
    class Refusing(Cluster):
        def items(self, collection: str, selector: str) -> list[dict[str, Any]]:
            raise RequestError(status, "no entry")

    with pytest.raises(NodesError, match=r"refuses the stack's credentials: no entry\. .*`pulumi refresh` renews it"):
        seen(Refusing([], []))


# In a run


def run(kubeconfig: Path, look: Look | None, *, preview: bool = False) -> Recording:
    """The H200 stack on a cluster that looks so; None stands for one that must not be asked."""
    recording = Recording()

    def asked(*_: object) -> Look:
        if look is None:
            raise AssertionError("the cluster was asked")
        return look

    config = stack_config(STACKS["doks-h200"], kubeconfig)
    with patch("programs._all_offered", asked), suppress(NodesError):
        run_program("doks-h200", config, recording=recording, preview=preview)
    return recording


def test_networks_come_once_every_node_offers_its_rails(kubeconfig: Path) -> None:
    names = [f"rdma/fabric{rail}" for rail in range(8)]
    offered = {f"gpu-{node}": dict.fromkeys(names, "100") for node in range(4)}
    assert len(run(kubeconfig, looks(Capacity({}), Capacity(offered))).of_type(NETWORK)) == 8


def test_a_preview_waits_for_nothing_and_asks_no_cluster(kubeconfig: Path) -> None:
    assert len(run(kubeconfig, None, preview=True).of_type(NETWORK)) == 8


def test_no_network_is_made_where_a_rail_stays_away(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_fabric.plan.concerns._CAPACITY_TIMEOUT", 1)
    recording = run(kubeconfig, looks(Capacity({})))
    assert recording.of_type(":DaemonSet") != []
    assert recording.of_type(NETWORK) == []
