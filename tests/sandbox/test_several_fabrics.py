"""Stacks with several fabrics, whole: jobs of each fabric run on its nodes by its contract, and nothing stays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from driver import PODS, Sandbox, until
from lived_in import assert_as_before, nvidia_operators, settled
from whole_lives import assert_just_what_is_planned

from gpu_fabric.contract.several import chosen_of, read_contracts
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.prepare import prepare_stack
from sandbox.home import project_root
from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.sandbox

# Definitions of the folders crds/ of the operators' charts, which Helm never deletes; they hold no object.
LEFT_BY_HELM = {
    "clusterpolicies.nvidia.com",
    "network-attachment-definitions.k8s.cni.cncf.io",
    "nicclusterpolicies.mellanox.com",
    "nicnodepolicies.mellanox.com",
    "nodefeaturerules.nfd.k8s-sigs.io",
}
WORKERS = "/apis/apps/v1/namespaces/gpu-operator/daemonsets/gpu-operator-node-feature-discovery-worker"
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"


def job_of(sandbox: Sandbox, name: str, *fabrics: str) -> Object:
    """A pod written from the contract of some fabrics, as the outputs have it."""
    contract = chosen_of(read_contracts(json.dumps(sandbox.outputs())), fabrics)
    patch: Any = contract.pod_template_patch
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **patch["metadata"]}, "spec": patch["spec"]}
    pod["spec"]["containers"][0]["image"] = "training"
    return pod


def node_of(sandbox: Sandbox, name: str) -> str | None:
    """The node on which a pod runs; None while it does not."""
    pod = sandbox.api.get(f"{PODS}/{name}")
    return pod["spec"].get("nodeName") if pod["status"].get("phase") == "Running" else None


def assert_a_job_runs(sandbox: Sandbox, nodes: set[str], *fabrics: str) -> None:
    """A pod of these fabrics is scheduled on one of the nodes; every network that it names exists."""
    name = "-".join(("job", *fabrics))
    job = job_of(sandbox, name, *fabrics)
    named = {entry["name"] for entry in json.loads(job["metadata"]["annotations"][NETWORKS_ANNOTATION])}
    assert named <= {entry["metadata"]["name"] for entry in sandbox.items(NETWORKS)}
    sandbox.api.post(PODS, job)
    assert until(lambda: node_of(sandbox, name), f"{name} runs") in nodes
    sandbox.api.delete(f"{PODS}/{name}?gracePeriodSeconds=0")
    until(lambda: name not in {pod["metadata"]["name"] for pod in sandbox.items(PODS)}, f"{name} is gone")


def offering(sandbox: Sandbox, resource: str, nodes: set[str]) -> None:
    until(lambda: sandbox.allocatable(resource) == dict.fromkeys(nodes, "1"), f"{resource} is on {nodes} alone")


def at_first(sandbox: Sandbox) -> dict[str, Any]:
    """Everything on the cluster before the stack."""
    sandbox.run("up", *sandbox.options)
    return settled(sandbox.api)


def assert_it_stays_and_goes(sandbox: Sandbox, before: dict[str, Any]) -> None:
    """Nothing but the plan, a second `up` that changes nothing, and after `destroy` everything as before."""
    assert sandbox.open_definitions() == []
    assert_just_what_is_planned(sandbox.state().resources, prepare_stack(sandbox.stack, project_root()))
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    sandbox.run("pulumi", "destroy", *sandbox.options)
    assert_as_before(before, sandbox.api, left=LEFT_BY_HELM)


def test_jobs_of_each_kind_of_machines_run_on_their_nodes(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("two-machines")
    before = at_first(sandbox)
    sandbox.up()
    h100, a100 = {"h100-0", "h100-1"}, {"a100-0", "a100-1"}
    offering(sandbox, "nvidia.com/rail_00", h100)
    offering(sandbox, "nvidia.com/a100_rail_00", a100)

    assert_a_job_runs(sandbox, h100, "main")
    assert_a_job_runs(sandbox, a100, "a100")
    assert_it_stays_and_goes(sandbox, before)
    until(lambda: sandbox.allocatable("nvidia.com/a100_rail_00") == {}, "no node offers a rail any more")


@pytest.fixture
def lived_in(tmp_path: Path) -> Iterator[Sandbox]:
    """A cluster of H100 and A100 nodes, on which somebody installed both operators and wrote a policy."""
    sandbox = Sandbox(tmp_path, "two-machines-operators", ("--sandbox",))
    try:
        sandbox.run("up", *sandbox.options)
        nvidia_operators(sandbox)
        yield sandbox
    finally:
        sandbox.run("down")


def test_both_kinds_of_machines_share_operators_that_are_there_and_leave_them_as_they_were(lived_in: Sandbox) -> None:
    before = settled(lived_in.api)
    lived_in.run("pulumi", "up", *lived_in.options)
    h100, a100 = {"h100-0", "h100-1"}, {"a100-0", "a100-1"}
    offering(lived_in, "nvidia.com/rail_00", h100)
    offering(lived_in, "nvidia.com/a100_rail_00", a100)

    assert_a_job_runs(lived_in, h100, "main")
    assert_a_job_runs(lived_in, a100, "a100")
    assert f"{lived_in.counted} unchanged" in lived_in.run("pulumi", "up", *lived_in.options)

    lived_in.run("pulumi", "destroy", *lived_in.options)
    for resource in ("nvidia.com/rail_00", "nvidia.com/a100_rail_00"):
        until(lambda resource=resource: lived_in.allocatable(resource) == {}, f"no node offers {resource}")
    assert_as_before(before, lived_in.api)


def test_a_job_has_compute_and_storage_of_its_node(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("storage-fabric")
    before = at_first(sandbox)
    sandbox.up()
    nodes = {"h100-0", "h100-1"}
    offering(sandbox, "nvidia.com/rail_07", nodes)
    offering(sandbox, "nvidia.com/storage_rail_01", nodes)

    assert_a_job_runs(sandbox, nodes, "main")
    assert_a_job_runs(sandbox, nodes, "main", "storage")
    assert_it_stays_and_goes(sandbox, before)


def test_labels_of_nodes_do_not_come_back_once_their_workers_are_gone(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("storage-fabric")
    sandbox.run("up", *sandbox.options)
    sandbox.up()

    def labelled() -> set[str]:
        nodes = [node["metadata"] for node in sandbox.items("/api/v1/nodes")]
        return {node["name"] for node in nodes if "nvidia.com/gpu.present" in node["labels"]}

    def marked() -> set[str]:
        nodes = [node["metadata"] for node in sandbox.items("/api/v1/nodes")]
        return {node["name"] for node in nodes if "sandbox.gpu-fabric/features" in node["annotations"]}

    nodes = until(labelled, "nodes are labelled")
    sandbox.api.delete(WORKERS)
    until(lambda: not marked(), "no node is marked any more")
    # The Stages are still there, as for a KWOK that has not seen that they went.
    for node in nodes:
        sandbox.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"nvidia.com/gpu.present": None}}})
    time.sleep(3)
    assert labelled() == set()
