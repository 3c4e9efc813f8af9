"""The release lines one after another, in place, on a cluster with a running pod of a job."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driver import PODS, Sandbox, until
from program_lists import LINES
from test_models import gpu_nodes, job_of

from gpu_fabric.catalog import catalog

pytestmark = pytest.mark.sandbox

OPERATORS = "/apis/apps/v1/deployments"
# Up to the newest line, and back by one.
HOPS = (*LINES[1:], LINES[-2])
STACKS = ("host-device", "sriov-operator")


def images(sandbox: Sandbox) -> set[str]:
    """The tags of the images of all Deployments, such as the operators'."""
    containers = [
        container for item in sandbox.items(OPERATORS) for container in item["spec"]["template"]["spec"]["containers"]
    ]
    return {str(container["image"]).rpartition(":")[2] for container in containers}


@pytest.mark.parametrize("stack", STACKS)
def test_every_line_comes_up_in_the_place_of_the_one_before_it_while_a_pod_goes_on(
    trying: Callable[[str], Sandbox], stack: str
) -> None:
    sandbox, started = trying(stack), ""
    sandbox.run("up", *sandbox.options)
    for line in HOPS:
        sandbox.up_with(("release-line",), software={"releaseLine": line})
        charts = catalog().releases[line].charts
        wanted = {f"v{charts['network-operator'].version}", charts["gpu-operator"].version}
        until(lambda wanted=wanted: wanted <= images(sandbox), f"the operators of {line} run")
        if not started:
            sandbox.api.post(PODS, {**(job := job_of(sandbox)), "metadata": {**job["metadata"], "name": "long"}})
            until(lambda: sandbox.api.get(f"{PODS}/long")["status"].get("phase") == "Running", "the job runs")
            started = sandbox.api.get(f"{PODS}/long")["metadata"]["uid"]
        found = sandbox.api.get(f"{PODS}/long")
        assert (found["metadata"]["uid"], found["status"]["phase"]) == (started, "Running")
    sandbox.api.delete(f"{PODS}/long?gracePeriodSeconds=0")
    assert gpu_nodes(sandbox)
    sandbox.run("pulumi", "destroy", *sandbox.options)


def test_a_chart_that_a_line_shares_with_another_is_installed_in_it(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("spiderpool-macvlan")
    sandbox.run("up", *sandbox.options)
    sandbox.up_with(software={"releaseLine": "26.7"})
    released = {entry["inputs"]["chart"] for entry in sandbox.state().resources if entry["type"].endswith(":Release")}

    assert any(path.endswith("sandbox/charts/26.7/spiderpool") for path in released)
    sandbox.run("pulumi", "destroy", *sandbox.options)
