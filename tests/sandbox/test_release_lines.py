"""The release lines one after another, in place, on a cluster with a running pod of a job."""

from __future__ import annotations

from collections.abc import Callable

from driver import PODS, Sandbox, until
from program_lists import LINES

from gpu_fabric.catalog import catalog

OPERATORS = "/apis/apps/v1/deployments"
# Up to the newest line, and back by one.
HOPS = (*LINES[1:], LINES[-2])


def images(sandbox: Sandbox) -> set[str]:
    """The tags of the images of all Deployments, such as the operators'."""
    containers = [
        container for item in sandbox.items(OPERATORS) for container in item["spec"]["template"]["spec"]["containers"]
    ]
    return {str(container["image"]).rpartition(":")[2] for container in containers}


def test_every_line_comes_up_in_the_place_of_the_one_before_it_while_a_pod_goes_on(
    trying: Callable[[str], Sandbox],
) -> None:
    sandbox, started = trying("sriov-operator"), ""
    sandbox.run("up", *sandbox.options)
    for line in HOPS:
        sandbox.up_with(("release-line",), software={"releaseLine": line})
        charts = catalog().releases[line].charts
        wanted = {f"v{charts['network-operator'].version}", charts["gpu-operator"].version}
        until(lambda wanted=wanted: wanted <= images(sandbox), f"the operators of {line} run")
        if not started:
            sandbox.run_pod(sandbox.pod("long"))
            started = sandbox.api.get(f"{PODS}/long")["metadata"]["uid"]
        found = sandbox.api.get(f"{PODS}/long")
        assert (found["metadata"]["uid"], found["status"]["phase"]) == (started, "Running")
    sandbox.remove_pods("long")
    sandbox.run("pulumi", "destroy", *sandbox.options)
