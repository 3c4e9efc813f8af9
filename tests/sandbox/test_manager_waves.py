"""Nodes that waves take from device plug-ins to claims and back, with jobs and kills: never both, and no job lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, Sandbox, aside

from gpu_fabric.k8s.names import WAY_LABEL

pytestmark = pytest.mark.slow

STACK = "host-device"
NODES = "/api/v1/nodes"
PLUGIN, DRIVER = "network-operator-sriov-device-plugin", "dranet"
ENDS = "sandbox.gpu-fabric/completes-after"
KILLS = 10
WAVES: dict[str, Any] = {"nodes": 2, "jobMinutes": 10, "nodeMinutes": 5}
CLAIMS: dict[str, Any] = {"manager": "dranet", "model": None, "addressing": None, "claims": {"nri": True}}
LOST = {
    "plugin": ("namespaces-nvidia-network-operator", "nic-policies-nic-cluster-policy", "ip-pools"),
    "claims": ("namespaces-dranet", "networks"),
}


class Watch:
    """Looks at the nodes all the time, and notes each on which both ways were at work at the same time."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.both: set[str] = set()
        self._sandbox, self._ends = sandbox, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ends.wait(0.3):
            served = serving(self._sandbox)
            self.both |= {node for node, names in served.items() if len(names) > 1}


def serving(sandbox: Sandbox) -> dict[str, set[str]]:
    """What hands out NICs on each node, by the pods that are there."""
    found: dict[str, set[str]] = {}
    for pod in sandbox.items("/api/v1/pods"):
        owner = next((entry["name"] for entry in pod["metadata"].get("ownerReferences") or ()), "")
        if owner in (PLUGIN, DRIVER) and (node := pod["spec"].get("nodeName")):
            found.setdefault(node, set()).add(owner)
    return found


def up(sandbox: Sandbox, way: str, home: str, *, changes: bool = True) -> str:
    manager = {"plugin": "network-operator", "claims": "dranet"}[home]
    section = CLAIMS if way == "claims" else {}
    lost = LOST["plugin" if way == "claims" else "claims"] if changes else ()
    return sandbox.up_with(lost, upgrade={**WAVES, "fromManager": manager}, fabric=section)


def up_with_kills(sandbox: Sandbox, way: str, home: str, chance: random.Random, kills: int) -> None:
    for _ in range(kills):
        with aside(lambda: up(sandbox, way, home)) as run:
            run.join(chance.uniform(3, 25))
    up(sandbox, way, home)


@pytest.mark.timeout(2400)
def test_nodes_go_to_claims_and_back_around_jobs_and_kills(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying(STACK)
    chance = random.Random(39)  # noqa: S311 - a repeatable choice is no secret
    sandbox.run("up", *sandbox.options)
    up(sandbox, "plugin", "plugin", changes=False)
    nodes = sorted(serving(sandbox))
    assert serving(sandbox) == {node: {PLUGIN} for node in nodes}
    for way, home, daemon_set in (("claims", "plugin", DRIVER), ("plugin", "claims", PLUGIN)):
        jobs = {}
        for number, node in enumerate(nodes[:2]):
            job = sandbox.pod(f"job-{number}")
            job["metadata"].setdefault("annotations", {})[ENDS] = f"{20 + 30 * number}s"
            job["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
            sandbox.run_pod(job)
            jobs[f"job-{number}"] = sandbox.api.get(f"{PODS}/job-{number}")["metadata"]["uid"]
        with Watch(sandbox) as watch:
            up_with_kills(sandbox, way, home, chance, KILLS)
        assert watch.both == set()
        assert serving(sandbox) == {node: {daemon_set} for node in nodes}
        for name, uid in jobs.items():
            found = sandbox.api.get(f"{PODS}/{name}")
            assert (found["metadata"]["uid"], found["status"]["phase"]) == (uid, "Succeeded")
        sandbox.remove_pods(*jobs)
        marked = [item["metadata"] for item in sandbox.items(NODES) if item["metadata"]["name"] in nodes]
        assert {item["labels"][WAY_LABEL] for item in marked} == {way}
        assert not any(item["spec"].get("unschedulable") for item in sandbox.items(NODES))
        # A job of the new form runs on a node that has changed.
        sandbox.run_pod(sandbox.pod("after"))
        sandbox.remove_pods("after")
        # The way that nodes had is the one of nodes that join, until the change is over; then it is this one.
        up(sandbox, way, way, changes=False)
