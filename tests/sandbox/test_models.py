"""Every networking model and mode of Spiderpool, whole: from its stack file to a pod that is scheduled, and back."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from driver import DEFINITIONS, Sandbox, until
from stack_plans import stack_plan
from whole_lives import HOST_NETWORK, MODELS, assert_just_what_is_planned

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, RESOURCE_NAME_ANNOTATION
from sandbox.home import project_root
from sandbox.kubernetes_api import Object

NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"


def networks(sandbox: Sandbox) -> dict[str, dict[str, str]]:
    """The annotations of every network that pods can name, whoever has made it."""
    return {entry["metadata"]["name"]: entry["metadata"].get("annotations", {}) for entry in sandbox.items(NETWORKS)}


def gpu_nodes(sandbox: Sandbox) -> set[str]:
    """The names of the nodes that offer GPUs of either vendor."""
    nodes = {*sandbox.allocatable("nvidia.com/gpu"), *sandbox.allocatable("amd.com/gpu")}
    assert nodes
    return nodes


def offered(sandbox: Sandbox, resource: str) -> dict[str, str]:
    """What nodes offer: Spiderpool's shared device plug-in runs on nodes without the NICs, too, and offers none."""
    return {node: amount for node, amount in sandbox.allocatable(resource).items() if amount != "0"}


def assert_a_job_runs(sandbox: Sandbox, resource: str, devices: int) -> None:
    """A pod of the contract is scheduled; every network that it names exists, with the resource that it asks for."""
    wanted = dict.fromkeys(gpu_nodes(sandbox), str(devices))
    until(lambda: offered(sandbox, resource) == wanted, f"every GPU node offers {devices} of {resource}")
    job = sandbox.pod("job")
    named = {entry["name"] for entry in json.loads(job["metadata"]["annotations"][NETWORKS_ANNOTATION])}
    asked = job["spec"]["containers"][0]["resources"]["limits"]
    assert named
    made = until(lambda: named <= networks(sandbox).keys() and networks(sandbox), f"there are networks {named}")
    assert {made[name].get(RESOURCE_NAME_ANNOTATION, resource) for name in named} <= asked.keys()
    assert_it_is_scheduled(sandbox, job)


def assert_it_is_scheduled(sandbox: Sandbox, job: Object) -> None:
    """The pod runs on a node; it is gone afterwards."""
    sandbox.run_pod(job)
    sandbox.remove_pods("job")


def assert_whole_life(sandbox: Sandbox, resource: str, devices: int) -> None:
    """Up, a job, a second `up` that changes nothing, and a `destroy` that leaves nothing."""
    sandbox.up()
    assert_a_job_runs(sandbox, resource, devices)
    assert_it_stays_and_goes(sandbox)
    until(lambda: offered(sandbox, resource) == {}, f"no node offers {resource} any more")


def assert_it_stays_and_goes(sandbox: Sandbox) -> None:
    """Nothing but the plan, kinds that are checked, a second `up` that changes nothing, and nothing after `destroy`."""
    assert sandbox.open_definitions() == []
    assert_just_what_is_planned(sandbox.state().resources, stack_plan(sandbox.stack, project_root()))
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    sandbox.run("pulumi", "destroy", *sandbox.options)
    left = {entry["metadata"]["name"] for entry in sandbox.items("/api/v1/namespaces")}
    assert left == {"default", "kube-node-lease", "kube-public", "kube-system"}
    until(lambda: networks(sandbox) == {}, "every network is gone")
    # No webhook that would refuse pods, and no definition of Spiderpool's, so no object.
    for sort in ("mutating", "validating"):
        assert sandbox.items(WEBHOOKS.format(sort)) == []
    assert "spiderpool.spidernet.io" not in {entry["spec"]["group"] for entry in sandbox.items(DEFINITIONS)}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_comes_up_runs_a_job_stays_as_it_is_and_goes(trying: Callable[[str], Sandbox], model: str) -> None:
    assert_whole_life(trying(model), *MODELS[model])


def test_a_stack_on_the_hosts_network_brings_no_networks_and_runs_a_job(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying(HOST_NETWORK)
    sandbox.up()
    job = sandbox.pod("job")
    assert job["spec"]["hostNetwork"] is True
    assert sandbox.items(NETWORKS) == []
    assert_it_is_scheduled(sandbox, job)
    assert_it_stays_and_goes(sandbox)
