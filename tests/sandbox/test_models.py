"""Every networking model of the Network Operator, whole: from its stack file to a pod that is scheduled, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest
from driver import PODS, Sandbox, until
from rendered_charts import Helm, of_kind
from whole_lives import HOST_NETWORK, MODELS, assert_just_what_is_planned

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, RESOURCE_NAME_ANNOTATION
from gpu_fabric.prepare import prepare_stack
from sandbox.hardware.inventory import inventory_annotation
from sandbox.home import project_root
from sandbox.kubernetes_api import Object
from sandbox.nodes import GPU_NODE, node_object, reconcile_nodes

pytestmark = pytest.mark.sandbox

NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"


def job_of(sandbox: Sandbox) -> Object:
    """A pod written from the `fabric` output alone."""
    patch = sandbox.outputs()["fabric"]["podTemplatePatch"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job", **patch["metadata"]}, "spec": patch["spec"]}
    pod["spec"]["containers"][0]["image"] = "training"
    return pod


def networks(sandbox: Sandbox) -> dict[str, dict[str, str]]:
    """The annotations of every network that pods can name, whoever has made it."""
    return {entry["metadata"]["name"]: entry["metadata"].get("annotations", {}) for entry in sandbox.items(NETWORKS)}


def gpu_nodes(sandbox: Sandbox) -> set[str]:
    """The names of the nodes that offer GPUs of either vendor."""
    nodes = {*sandbox.allocatable("nvidia.com/gpu"), *sandbox.allocatable("amd.com/gpu")}
    assert nodes
    return nodes


def assert_a_job_runs(sandbox: Sandbox, resource: str, devices: int) -> None:
    """A pod of the contract is scheduled; every network that it names exists, with the resource that it asks for."""
    nodes = gpu_nodes(sandbox)
    until(
        lambda: sandbox.allocatable(resource) == dict.fromkeys(nodes, str(devices)),
        f"every GPU node offers {devices} of {resource}",
    )
    job = job_of(sandbox)
    named = {entry["name"] for entry in json.loads(job["metadata"]["annotations"][NETWORKS_ANNOTATION])}
    asked = job["spec"]["containers"][0]["resources"]["limits"]
    assert named
    made = until(lambda: named <= networks(sandbox).keys() and networks(sandbox), f"there are networks {named}")
    assert {made[name].get(RESOURCE_NAME_ANNOTATION, resource) for name in named} <= asked.keys()
    assert_it_is_scheduled(sandbox, job)


def assert_it_is_scheduled(sandbox: Sandbox, job: Object) -> None:
    """The pod runs on a node; it is gone afterwards."""
    sandbox.api.post(PODS, job)
    until(lambda: sandbox.api.get(f"{PODS}/job")["status"].get("phase") == "Running", "the job runs")
    sandbox.api.delete(f"{PODS}/job?gracePeriodSeconds=0")
    until(lambda: "job" not in {pod["metadata"]["name"] for pod in sandbox.items(PODS)}, "the job is gone")


def assert_whole_life(sandbox: Sandbox, resource: str, devices: int) -> None:
    """Up, a job, a second `up` that changes nothing, and a `destroy` that leaves nothing."""
    sandbox.up()
    assert_a_job_runs(sandbox, resource, devices)
    assert_it_stays_and_goes(sandbox)
    until(lambda: sandbox.allocatable(resource) == {}, f"no node offers {resource} any more")


def assert_it_stays_and_goes(sandbox: Sandbox) -> None:
    """Nothing but the plan, kinds that are checked, a second `up` that changes nothing, and nothing after `destroy`."""
    assert sandbox.open_definitions() == []
    assert_just_what_is_planned(sandbox.state().resources, prepare_stack(sandbox.stack, project_root()))
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    sandbox.run("pulumi", "destroy", *sandbox.options)
    left = {entry["metadata"]["name"] for entry in sandbox.items("/api/v1/namespaces")}
    assert left == {"default", "kube-node-lease", "kube-public", "kube-system"}
    until(lambda: networks(sandbox) == {}, "every network is gone")


@pytest.mark.parametrize("model", MODELS)
def test_a_model_comes_up_runs_a_job_stays_as_it_is_and_goes(trying: Callable[[str], Sandbox], model: str) -> None:
    assert_whole_life(trying(model), *MODELS[model])


def test_a_stack_on_the_hosts_network_brings_no_networks_and_runs_a_job(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying(HOST_NETWORK)
    sandbox.up()
    job = job_of(sandbox)
    assert job["spec"]["hostNetwork"] is True
    assert sandbox.items(NETWORKS) == []
    assert_it_is_scheduled(sandbox, job)
    assert_it_stays_and_goes(sandbox)


@pytest.mark.parametrize(
    ("chart", "values", "marked"),
    [
        # its worker labels network cards of any vendor; the unknown vendor of a board's NICs is none
        ("26.4/gpu-operator", {}, {"15b3", "14e4", "1dd8", "8086"}),
        # the worker labels none, and the chart's own rule those of NVIDIA
        ("26.4/network-operator", {"nfd": {"enabled": True}}, {"15b3"}),
    ],
)
def test_nodes_are_marked_for_the_vendors_of_their_own_nics(
    cluster: Sandbox, chart: str, values: dict[str, object], marked: set[str]
) -> None:
    cluster.run("up", "-s", "mi300x-host-device", "--sandbox")
    stages = {entry["metadata"]["name"]: entry for entry in of_kind(Helm().objects(chart, values), "Stage")}
    nodes = {f"nics-{vendor or 'unknown'}": vendor for vendor in ("15b3", "14e4", "1dd8", "8086", None)}
    reconcile_nodes(cluster.api, [_discovered(name, vendor) for name, vendor in nodes.items()])
    wanted = {name: {vendor} & marked for name, vendor in nodes.items()}
    cluster.api.post(STAGES, stages["node-features"])
    try:
        until(lambda: _marks(cluster) == wanted, "every node has the mark of its own NICs, and no other")
    finally:
        cluster.api.delete(f"{STAGES}/node-features")


def _discovered(name: str, vendor: str | None) -> Object:
    """A node with AMD GPUs and NICs of a vendor on which a worker of Node Feature Discovery runs."""
    shape = catalog().shapes["server.mi300x.8"]
    assert shape.nic_model is not None
    nics = shape.model_copy(update={"nic_model": shape.nic_model.model_copy(update={"vendor_id": vendor})})
    annotations = {"sandbox.gpu-fabric/features": "discovered", **inventory_annotation(nics)}
    return node_object(name, IPv4Address("10.0.10.1"), {}, [], annotations, GPU_NODE)


def _marks(sandbox: Sandbox) -> dict[str, set[str]]:
    """The vendors for which each node is marked."""
    return {
        node["metadata"]["name"]: {
            label.removeprefix("feature.node.kubernetes.io/pci-").removesuffix(".present")
            for label in node["metadata"]["labels"]
            if label.startswith("feature.node.kubernetes.io/pci-")
        }
        for node in sandbox.items("/api/v1/nodes")
    }
