"""Stacks with several fabrics, whole: jobs of each fabric run on its nodes by its contract, and nothing stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driver import Sandbox, until
from lived_in import assert_as_before, nvidia_operators, settled
from stack_plans import stack_plan
from whole_lives import LEFT_BY_HELM, assert_just_what_is_planned

from gpu_fabric.contract.several import chosen_of, read_contracts
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from sandbox.home import project_root

NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
H100, A100 = {"h100-0", "h100-1"}, {"a100-0", "a100-1"}
MACHINES = {"nvidia.com/rail_00": H100, "nvidia.com/a100_rail_00": A100}
# Stack: on which nodes each resource is, and on which nodes a job of which fabrics runs. On a cluster of the second one
# somebody has installed both operators and written a policy.
STACKS: dict[str, tuple[dict[str, set[str]], dict[tuple[str, ...], set[str]]]] = {
    "two-machines": (MACHINES, {("main",): H100, ("a100",): A100}),
    "two-machines-operators": (MACHINES, {("main",): H100, ("a100",): A100}),
    "storage-fabric": (
        {"nvidia.com/rail_07": H100, "nvidia.com/storage_rail_01": H100},
        {("main",): H100, ("main", "storage"): H100},
    ),
}


def assert_a_job_runs(sandbox: Sandbox, nodes: set[str], *fabrics: str) -> None:
    """A pod of these fabrics is scheduled on one of the nodes; every network that it names exists."""
    patch: Any = chosen_of(read_contracts(json.dumps(sandbox.outputs())), fabrics).pod_template_patch
    patch["spec"]["containers"][0]["image"] = "training"
    job = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job", **patch["metadata"]}, "spec": patch["spec"]}
    named = {entry["name"] for entry in json.loads(job["metadata"]["annotations"][NETWORKS_ANNOTATION])}
    assert named <= {entry["metadata"]["name"] for entry in sandbox.items(NETWORKS)}
    assert sandbox.run_pod(job) in nodes
    sandbox.remove_pods("job")


@pytest.mark.parametrize("stack", STACKS)
def test_jobs_of_each_fabric_run_on_its_nodes_and_everything_is_left_as_it_was(stack: str, tmp_path: Path) -> None:
    offered, jobs = STACKS[stack]
    has_operators = stack == "two-machines-operators"
    sandbox = Sandbox(tmp_path, stack, ("--sandbox",))
    try:
        sandbox.run("up", *sandbox.options)
        if has_operators:
            nvidia_operators(sandbox)
        before = settled(sandbox.api)
        sandbox.run("pulumi", "up", *sandbox.options)
        for resource, nodes in offered.items():
            wanted = dict.fromkeys(nodes, "1")
            until(lambda r=resource, w=wanted: sandbox.allocatable(r) == w, f"{resource} is on {nodes} alone")
        for fabrics, nodes in jobs.items():
            assert_a_job_runs(sandbox, nodes, *fabrics)
        assert_just_what_is_planned(sandbox.state().resources, stack_plan(stack, project_root()))
        assert f"{sandbox.counted} unchanged" in sandbox.run("pulumi", "up", *sandbox.options)
        sandbox.run("pulumi", "destroy", *sandbox.options)
        for resource in offered:
            until(lambda r=resource: sandbox.allocatable(r) == {}, f"no node offers {resource}")
        assert_as_before(before, sandbox.api, left=set() if has_operators else LEFT_BY_HELM)
    finally:
        sandbox.run("down")
