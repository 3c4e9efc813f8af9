"""Clusters of clouds with a profile, whole: a job gets the cloud's NICs, and what the cloud has stays as it was.

A row has what the cloud's own page says of nodes and pods, with its address; the sandbox has it from the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, Placed, Sandbox, until
from lived_in import assert_as_before, settled
from rows import rows
from whole_lives import LEFT_BY_HELM, assert_just_what_is_planned

from sandbox.kubernetes_api import Object

CLUSTERS = rows(__file__, "clusters")
GPU, CLAIMS = "nvidia.com/gpu", "/apis/resource.k8s.io/v1/resourceclaims"
# What a kubelet counts by itself.
COUNTED = ("cpu", "memory", "ephemeral-storage", "pods")
PAGES = ("hugepages-1Gi", "hugepages-2Mi")
# The version of the sandbox's API server.
KUBERNETES = "1.36.3"


def nodes_of(sandbox: Sandbox) -> dict[str, Object]:
    """The nodes with GPUs."""
    return {node["metadata"]["name"]: node for node in sandbox.items("/api/v1/nodes") if GPU in allocatable(node)}


def allocatable(node: Object) -> dict[str, str]:
    """What a node offers to pods, without what every kubelet counts."""
    offered = {name: amount for name, amount in node["status"]["allocatable"].items() if amount != "0"}
    return {name: amount for name, amount in offered.items() if name not in (*COUNTED, *PAGES)}


def published(sandbox: Sandbox, node: str) -> dict[str, int]:
    """How many devices each DRA driver publishes for a node."""
    specs = [item["spec"] for item in sandbox.items("/apis/resource.k8s.io/v1/resourceslices")]
    return {spec["driver"]: len(spec.get("devices", ())) for spec in specs if spec.get("nodeName") == node}


def job(sandbox: Sandbox, name: str, row: dict[str, Any]) -> Object:
    """A pod of the contract, with what the cloud's own webhook adds to its requests, which is not played."""
    pod = sandbox.pod(name)
    for amounts in requested(pod):
        amounts.update(row.get("webhook", {}))
    return pod


def requested(pod: Object) -> tuple[dict[str, str], dict[str, str]]:
    """The limits and the requests of a pod's container."""
    resources = pod["spec"]["containers"][0]["resources"]
    return resources["limits"], resources["requests"]


def why_pending(sandbox: Sandbox, pod: str) -> str:
    """Why the scheduler has no node for a pod; empty as long as it has not looked."""
    conditions = sandbox.api.get(f"{PODS}/{pod}")["status"].get("conditions", [])
    return next((entry["message"] for entry in conditions if entry.get("reason") == "Unschedulable"), "")


def assert_a_job_takes_every_node(sandbox: Sandbox, row: dict[str, Any]) -> None:
    """Each node takes one pod, with just what the page says; then no NIC is left, or no GPU if NICs are uncounted."""
    nodes = nodes_of(sandbox)
    workers = [f"worker-{number}" for number in range(len(nodes))]
    assert {sandbox.run_pod(job(sandbox, name, row)) for name in workers} == nodes.keys()
    (container,) = job(sandbox, "job", row)["spec"]["containers"]
    assert container["resources"]["limits"] == row["asks"]
    held = [len(item["status"]["allocation"]["devices"]["results"]) for item in sandbox.items(CLAIMS)]
    assert held == ([row["claims"]["devices"]] * len(workers) if "claims" in row else [])

    more = job(sandbox, "one-more", row)
    if GPU not in row["full"]:
        for amounts in requested(more):
            amounts.pop(GPU)
    sandbox.api.post(PODS, more)
    assert row["full"] in until(lambda: why_pending(sandbox, "one-more"), "the scheduler has looked at one more")
    sandbox.remove_pods(*workers, "one-more")
    until(lambda: sandbox.items(CLAIMS) == [], "the claims go with their pods")


@pytest.mark.parametrize("stack", CLUSTERS)
def test_a_job_gets_the_clouds_nics_and_the_cluster_is_left_as_the_cloud_made_it(
    placed: Callable[..., Placed], stack: str
) -> None:
    row = CLUSTERS[stack]
    # All labels of NVIDIA's operator are taken from the nodes again.
    sandbox = placed(stack, cluster={"kubernetes": KUBERNETES, "cleanNodes": "gpu-operator" in row["installs"]})
    nodes = nodes_of(sandbox)
    assert len(nodes) == 2
    for name, node in nodes.items():
        assert row["labels"].items() <= node["metadata"]["labels"].items()
        assert allocatable(node) == row["offers"]
        by_driver = {row["claims"]["driver"]: row["claims"]["devices"]} if "claims" in row else {}
        until(lambda name=name, wanted=by_driver: published(sandbox, name) == wanted, f"{name} publishes {by_driver}")
    before = settled(sandbox.api)

    sandbox.up()

    plan = sandbox.planned.plan
    assert {release.name for release in plan.releases} == {*row["installs"]}
    assert_just_what_is_planned(sandbox.state().resources, plan)
    assert_a_job_takes_every_node(sandbox, row)
    assert f"    {sandbox.counted} unchanged" in sandbox.up()
    sandbox.destroy()
    assert_as_before(before, sandbox.api, left=LEFT_BY_HELM)
