"""Machines of a managed pool at Oracle that waves replace for a newer Kubernetes, around a job and after a kill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cloud_driver import NODES, CloudSandbox
from driver import PODS, aside, until

from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.slow

KEPT = "/api/v1/namespaces/nvidia-network-operator/configmaps"
POOL: dict[str, Any] = {
    "name": "gpu",
    "shape": "BM.GPU.H200.8",
    "nodes": 2,
    "placement": "compute-cluster",
    "availabilityDomain": "AD-1",
    "imageId": "ocid1.image.oc1.us-chicago-1.aaaaaaaaexample",
}
SECTIONS: dict[str, Any] = {
    "upgrade": {"machines": True, "jobMinutes": 5, "nodeMinutes": 5},
    "software": {"charts": "bundled", "schedulers": None},
    "fabric": {"readiness": {"seconds": 10}},
}


@pytest.fixture
def sandbox(cloud: Callable[..., CloudSandbox]) -> CloudSandbox:
    """A cluster with one managed pool whose nodes prove themselves, brought up by a stack with waves."""
    sandbox = cloud("oke-h200", "oci")
    up(sandbox, "1.34.1")
    return sandbox


def up(sandbox: CloudSandbox, version: str) -> str:
    return sandbox.up_with(cluster={"version": version, "pools": [POOL], "protect": False}, **SECTIONS)


def gpu_nodes(sandbox: CloudSandbox) -> list[Object]:
    nodes = (node for node in sandbox.items(NODES) if node["metadata"]["labels"].get("gpu-fabric/pool") == "gpu")
    return sorted(nodes, key=lambda node: str(node["metadata"]["name"]))


def versions(sandbox: CloudSandbox) -> list[str]:
    return [node["status"]["nodeInfo"]["kubeletVersion"] for node in gpu_nodes(sandbox)]


def machines(sandbox: CloudSandbox) -> set[str]:
    return {node["spec"]["providerID"] for node in gpu_nodes(sandbox)}


@pytest.mark.timeout(1500)
def test_a_newer_kubernetes_comes_node_by_node_around_a_job_and_goes_on_after_a_kill(sandbox: CloudSandbox) -> None:
    before = machines(sandbox)
    assert versions(sandbox) == ["v1.34.1"] * 2
    last = gpu_nodes(sandbox)[-1]["metadata"]["name"]
    job = sandbox.pod("job")
    job["spec"]["nodeSelector"] = {"kubernetes.io/hostname": last}
    sandbox.run_pod(job)

    with aside(lambda: up(sandbox, "1.35.0")):
        until(lambda: "v1.35.0" in versions(sandbox), "a machine was replaced", 400)
    assert sorted(versions(sandbox)) == ["v1.34.1", "v1.35.0"]

    with aside(lambda: up(sandbox, "1.35.0")) as run:
        until(
            lambda: sandbox.api.get(f"{NODES}/{last}")["spec"].get("unschedulable"), "the job's node is cordoned", 400
        )
        assert sandbox.node_of("job") == last
        sandbox.api.delete(f"{PODS}/job")
        run.join()
        assert run.exitcode == 0
    assert versions(sandbox) == ["v1.35.0"] * 2
    assert not machines(sandbox) & before
    assert [node["metadata"]["name"] for node in gpu_nodes(sandbox) if node["spec"].get("unschedulable")] == []
    assert "replaced-machines" not in {item["metadata"]["name"] for item in sandbox.items(KEPT)}
    # Jobs land on the new machines, which have proven themselves.
    conditions = [entry for node in gpu_nodes(sandbox) for entry in node["status"]["conditions"]]
    assert [entry["status"] for entry in conditions if entry["type"] == "gpu-fabric.dev/FabricReady"] == ["True"] * 2
