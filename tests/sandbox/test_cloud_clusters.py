"""Clusters of clouds with a profile, whole: a job gets the cloud's NICs, and what the cloud has stays as it was.

A row has what the cloud's own page says of nodes and pods, with its address; the sandbox has it from the profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from committed_stacks import STACKS
from driver import PODS, Sandbox, said_of, until
from lived_in import assert_as_before, settled
from rows import rows
from whole_lives import LEFT_BY_HELM, assert_just_what_is_planned

from sandbox.control_plane import ControlPlane
from sandbox.engine.commands import Stack
from sandbox.existing_cluster import place_objects, play_cluster
from sandbox.kubernetes_api import Object
from sandbox.simulated_nodes import desired_nodes
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

CLUSTERS = rows(__file__, "clusters")
GPU, CLAIMS = "nvidia.com/gpu", "/apis/resource.k8s.io/v1/resourceclaims"
# What a kubelet counts by itself.
COUNTED = ("cpu", "memory", "ephemeral-storage", "pods")
PAGES = ("hugepages-1Gi", "hugepages-2Mi")
# The version of the sandbox's API server.
KUBERNETES = "1.36.3"


class AtCloud(Sandbox):
    """The sandbox as the cluster of a stack of tests/stacks, which no command finds by its name."""

    @property
    def planned(self) -> Stack:
        """The stack on this cluster, from which it takes all labels of NVIDIA's operator again."""
        cleans = "gpu-operator" in CLUSTERS[self.stack]["installs"]
        return self.stack_with(cluster={"kubernetes": KUBERNETES, "cleanNodes": cleans})

    def up(self) -> str:
        return said_of(lambda: self.engine.up(self.planned, as_json=False), False)

    def destroy(self) -> None:
        """What `make destroy` runs."""
        said_of(lambda: self.engine.destroy(self.planned), False)

    def outputs(self) -> dict[str, Any]:
        outputs: dict[str, Any] = json.loads(self.engine.outputs(self.planned, show_secrets=False))
        return outputs

    @property
    def nodes(self) -> dict[str, Object]:
        """The nodes with GPUs."""
        return {node["metadata"]["name"]: node for node in self.items("/api/v1/nodes") if GPU in allocatable(node)}


@pytest.fixture
def at_cloud(many_lives: Sandbox) -> Iterator[Callable[[str], AtCloud]]:
    """Gives the session's sandbox as the cluster of a stack, with what the cloud has; all of it goes afterwards."""
    used: list[AtCloud] = []

    def become(stack: str) -> AtCloud:
        sandbox = AtCloud(many_lives.home.root, stack, root=STACKS)
        ControlPlane(sandbox.home, lambda line: None).up(ensure(["core"], Progress()))
        used.append(sandbox)
        spec = sandbox.planned.spec
        assert play_cluster(sandbox.api, spec, desired_nodes(spec), started=True)[1] == ()
        return sandbox

    yield become
    for sandbox in used:
        if sandbox.workspace.state(sandbox.stack) is not None:
            sandbox.destroy()
        place_objects(sandbox.api, [])


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


def assert_a_job_takes_every_node(sandbox: AtCloud, row: dict[str, Any]) -> None:
    """Each node takes one pod, with just what the page says; then no NIC is left, or no GPU if NICs are uncounted."""
    workers = [f"worker-{number}" for number in range(len(sandbox.nodes))]
    assert {sandbox.run_pod(job(sandbox, name, row)) for name in workers} == sandbox.nodes.keys()
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
    at_cloud: Callable[[str], AtCloud], stack: str
) -> None:
    row, sandbox = CLUSTERS[stack], at_cloud(stack)
    assert len(sandbox.nodes) == 2
    for name, node in sandbox.nodes.items():
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
