"""A tenant's platform on a cluster that another stack made: up, a job, and the first stack's objects as they were."""

from __future__ import annotations

import pytest
from driver import Sandbox, until
from lived_in import assert_as_before, settled

from gpu_fabric.spec.load import read_document, validate
from sandbox.home import project_root
from sandbox.kubernetes_api import Object
from sandbox.simulated_nodes import desired_nodes, reconcile_nodes, wait_nodes_ready

FIRST, SECOND = "host-device", "second-platform"
RAIL = "nvidia.com/rail_00"
BLUE = "/api/v1/namespaces/blue/pods"


def nodes_of(stack: str) -> dict[str, Object]:
    spec, problems = validate(read_document(stack, project_root()))
    assert spec is not None, problems
    return {node["metadata"]["name"]: node for node in desired_nodes(spec)}


@pytest.fixture(scope="module")
def first(cluster: Sandbox) -> Sandbox:
    """A cluster with the nodes of both stacks, on which the first one is up."""
    sandbox = cluster.trying(FIRST)
    sandbox.run("up", *sandbox.options)
    reconcile_nodes(sandbox.api, {**nodes_of(FIRST), **nodes_of(SECOND)}.values())
    assert wait_nodes_ready(sandbox.api) == []
    sandbox.run("pulumi", "up", *sandbox.options)
    return sandbox


def test_a_second_stack_of_the_first_ones_names_is_refused_before_anything_is_registered(first: Sandbox) -> None:
    second = first.trying(SECOND)
    before = settled(first.api)

    printed = second.up_with(fails=True, fabric={"prefix": None})

    assert "seen: CIDRPool nvidia-network-operator/rail-00, metadata.managedFields[].manager: " in printed
    assert "no stack has marked" in printed
    assert_as_before(before, first.api)


def test_a_tenants_platform_runs_its_jobs_and_leaves_the_first_stack_as_it_was(first: Sandbox) -> None:
    second = first.trying(SECOND)
    before = settled(first.api)

    second.run("pulumi", "up", *second.options)
    until(lambda: {"blue-0", "blue-1"} <= second.allocatable(RAIL).keys(), "the tenant's nodes offer the rails")
    job = second.pod("job")
    assert second.run_pod(job, BLUE) in ("blue-0", "blue-1")
    assert '"name":"blue-rail-00"' in job["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"]
    second.remove_pods("job", pods=BLUE)

    assert f"{second.counted} unchanged" in second.run("pulumi", "up", *second.options)
    assert f"{first.counted} unchanged" in first.run("pulumi", "up", *first.options)

    second.run("pulumi", "destroy", *second.options)
    assert_as_before(before, first.api)
