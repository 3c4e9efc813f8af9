"""Nodes that are changed in waves: jobs end first, a bad node stops them, a killed run goes on, and the way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, Sandbox, aside, until

from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.slow

STACK = "host-device"
NODES = "/api/v1/nodes"
DRIVER = "nvidia-driver-daemonset"
OPERANDS = "/api/v1/namespaces/gpu-operator/pods"
NICS = "sandbox.gpu-fabric/nics"
ENDS = "sandbox.gpu-fabric/completes-after"
WAVES: dict[str, Any] = {"nodes": 1, "jobMinutes": 5, "nodeMinutes": 1}


def software(driver: str) -> dict[str, Any]:
    """The section with a version of the GPU driver, which the operator's container loads."""
    return {"gpuOperator": {"driver": True, "values": {"driver": {"version": driver}}}}


def up(sandbox: Sandbox, driver: str, *, fails: bool = False, back: tuple[str, ...] = (), **waves: Any) -> None:
    sandbox.up_with(back, fails=fails, software=software(driver), upgrade={**WAVES, **waves})


def drivers(sandbox: Sandbox) -> dict[str, str]:
    """The version of the driver that was loaded on each node."""
    found = (pod for pod in sandbox.items(OPERANDS) if pod["metadata"]["labels"].get("app") == DRIVER)
    return {pod["spec"]["nodeName"]: pod["spec"]["containers"][0]["image"].rpartition(":")[2] for pod in found}


def cordoned(sandbox: Sandbox) -> list[str]:
    return [item["metadata"]["name"] for item in sandbox.items(NODES) if item["spec"].get("unschedulable")]


def gpu_nodes(sandbox: Sandbox) -> list[str]:
    return sorted(sandbox.allocatable("nvidia.com/gpu"))


def started(sandbox: Sandbox, node: str, seconds: int) -> Object:
    """A job's pod that runs on a node, and ends after so many seconds."""
    job = sandbox.pod("job")
    job["metadata"]["annotations"][ENDS] = f"{seconds}s"
    job["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    sandbox.run_pod(job)
    return sandbox.api.get(f"{PODS}/job")


def uids(sandbox: Sandbox) -> dict[str, str]:
    """The driver's pod on each node."""
    found = (pod for pod in sandbox.items(OPERANDS) if pod["metadata"]["labels"].get("app") == DRIVER)
    return {pod["spec"]["nodeName"]: pod["metadata"]["uid"] for pod in found}


def set_nics(sandbox: Sandbox, node: str, nics: str) -> None:
    sandbox.api.patch(f"{NODES}/{node}", {"metadata": {"annotations": {NICS: nics}}})


def ended(sandbox: Sandbox, job: Object) -> None:
    """The job has come to its own end; it is taken away, as its name is used again."""
    found = sandbox.api.get(f"{PODS}/job")
    assert (found["metadata"]["uid"], found["status"]["phase"]) == (job["metadata"]["uid"], "Succeeded")
    sandbox.remove_pods("job")


def test_waves_let_jobs_end_stop_at_a_bad_node_go_back_and_go_on_after_a_kill(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying(STACK)
    sandbox.run("up", *sandbox.options)
    up(sandbox, "580.1.1")
    first, second, *others = nodes = gpu_nodes(sandbox)
    assert drivers(sandbox) == dict.fromkeys(nodes, "580.1.1")

    # The job's node is changed after the job's end; the second node has lost a NIC.
    job = started(sandbox, first, 20)
    nics = sandbox.api.get(f"{NODES}/{second}")["metadata"]["annotations"][NICS]
    set_nics(sandbox, second, json.dumps(json.loads(nics)[:-1]))
    before = uids(sandbox)
    up(sandbox, "580.2.2", fails=True)
    ended(sandbox, job)
    assert cordoned(sandbox) == [second]
    assert drivers(sandbox) == {**dict.fromkeys(nodes, "580.1.1"), first: "580.2.2", second: "580.2.2"}

    # Back: nodes that were not reached keep the pods that they have.
    set_nics(sandbox, second, nics)
    up(sandbox, "580.1.1", percent=50, back=("driver",))
    assert drivers(sandbox) == dict.fromkeys(nodes, "580.1.1")
    assert cordoned(sandbox) == []
    after = uids(sandbox)
    assert {node for node in nodes if after[node] == before[node]} == set(others)

    # Forward again, killed while two nodes are cordoned.
    with aside(lambda: up(sandbox, "580.3.3", percent=50)):
        until(lambda: len(cordoned(sandbox)) == 2, "two nodes are cordoned")
    assert len(cordoned(sandbox)) == 2
    up(sandbox, "580.3.3", percent=50)
    assert drivers(sandbox) == dict.fromkeys(nodes, "580.3.3")
    assert cordoned(sandbox) == []
    marks = (item["metadata"].get("annotations") or {} for item in sandbox.items(NODES))
    assert not any("gpu-fabric.dev/wave" in mark for mark in marks)
