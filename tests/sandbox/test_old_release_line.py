"""The OKE guide's release line, whose chart makes the NicClusterPolicy and puts its DaemonSets back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driver import Sandbox, until
from test_models import assert_a_job_runs, assert_it_stays_and_goes

STACK, RESOURCE, DEVICES = "oke-guide", "nvidia.com/sriov_rdma_vf", 16
PLUGINS = "/apis/apps/v1/daemonsets"
CONFIGURATION = "gpu-fabric/configuration"


def test_the_oke_guides_stack_comes_up_runs_a_job_stays_as_it_is_and_goes(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying(STACK)
    sandbox.up()
    assert_a_job_runs(sandbox, RESOURCE, DEVICES)
    # The operator puts its DaemonSet back; only a refresh finds that, and the next `up` restarts the plug-ins again.
    until(lambda: not annotated(sandbox), "the operator has taken the annotation away")
    before = generation(sandbox)
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    assert generation(sandbox) == before
    sandbox.run("pulumi", "refresh", *sandbox.options)
    said = sandbox.up()
    assert f"{sandbox.counted} unchanged" not in said, said
    until(lambda: not annotated(sandbox) and generation(sandbox) == before + 2, "rolled twice")
    assert_a_job_runs(sandbox, RESOURCE, DEVICES)
    assert_it_stays_and_goes(sandbox)
    until(lambda: sandbox.allocatable(RESOURCE) == {}, f"no node offers {RESOURCE} any more")


def plugin(sandbox: Sandbox) -> dict[str, Any]:
    """The DaemonSet of the operator's SR-IOV device plug-in."""
    (found,) = (item for item in sandbox.items(PLUGINS) if item["metadata"]["name"] == "sriov-device-plugin")
    return found


def annotated(sandbox: Sandbox) -> bool:
    """Whether the stack's annotation is in the device plug-in's pod template."""
    return CONFIGURATION in (plugin(sandbox)["spec"]["template"]["metadata"].get("annotations") or {})


def generation(sandbox: Sandbox) -> int:
    return int(plugin(sandbox)["metadata"]["generation"])
