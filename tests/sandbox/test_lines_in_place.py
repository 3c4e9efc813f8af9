"""From the OKE guide's release line to today's in place: nothing that a running job holds is deleted or replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, POLICY, Sandbox
from program_lists import LINES
from test_models import NETWORKS

from gpu_fabric.catalog import catalog

pytestmark = pytest.mark.slow

STACK = "oke-guide"
POOLS = "/apis/nv-ipam.nvidia.com/v1alpha1/ippools"
CLUSTER_POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
# The namespace of the older line's operator, in which the pools are.
STAYS = {"namespace": "network-operator"}


def held(sandbox: Sandbox) -> dict[str, Any]:
    """What a job holds: pools with their ranges, networks, and the policy that owns the pools' definitions."""
    pools = {item["metadata"]["uid"]: (item["spec"], item.get("status")) for item in sandbox.items(POOLS)}
    networks = {item["metadata"]["uid"]: item["spec"] for item in sandbox.items(NETWORKS)}
    return {"pools": pools, "networks": networks, "policy": sandbox.api.get(POLICY)["metadata"]["uid"]}


def test_the_newest_line_takes_the_place_of_23_10_around_a_running_job(trying: Callable[[str], Sandbox]) -> None:
    sandbox, line = trying(STACK), LINES[-1]
    sandbox.up()
    sandbox.run_pod(sandbox.pod("job"))
    job = sandbox.api.get(f"{PODS}/job")
    before = held(sandbox)
    assert len(before["pools"]) > 0
    assert len(before["networks"]) > 0
    sandbox.up_with(software={"releaseLine": line, "networkOperator": STAYS}, fails=True)
    sandbox.up_with(("release-line",), software={"releaseLine": line, "networkOperator": STAYS})
    assert held(sandbox) == before
    after = sandbox.api.get(f"{PODS}/job")
    assert (after["metadata"]["uid"], after["status"]["phase"]) == (job["metadata"]["uid"], "Running")
    (policy,) = sandbox.items(CLUSTER_POLICIES)
    assert "defaultRuntime" not in policy["spec"]["operator"]
    images = {item["spec"]["template"]["spec"]["containers"][0]["image"] for item in operators(sandbox)}
    charts = catalog().releases[line].charts
    versions = {f"v{charts['network-operator'].version}", charts["gpu-operator"].version}
    assert {image.rpartition(":")[2] for image in images} == versions
    sandbox.remove_pods("job")


def operators(sandbox: Sandbox) -> list[dict[str, Any]]:
    """The Deployments of both of NVIDIA's operators."""
    found = sandbox.items("/apis/apps/v1/deployments")
    return [item for item in found if item["metadata"]["name"] in ("gpu-operator", "network-operator")]
