"""Domains of NVLink, whole: NVIDIA's own controller judges them, and the real scheduler allocates their channels."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cloud_driver import CloudSandbox
from driver import Sandbox, until
from test_models import assert_it_stays_and_goes

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.contract import read_contract
from gpu_fabric.k8s.compute_domain import CLIQUE_LABEL
from sandbox.hardware.compute_domains import DOMAIN_LABEL
from sandbox.hardware.resource_slices import COMPUTE_DOMAIN, NVIDIA_GPU
from sandbox.kubernetes_api import ApiError, Object

GROUP, RESOURCES = "/apis/resource.nvidia.com/v1beta1", "/apis/resource.k8s.io/v1"
DRIVER = "dra-driver-nvidia-gpu"
DOMAINS = f"{GROUP}/namespaces/training/computedomains"
CLIQUES = f"{GROUP}/namespaces/{DRIVER}/computedomaincliques"
DAEMON_SETS = f"/apis/apps/v1/namespaces/{DRIVER}/daemonsets"
TEMPLATES = f"{RESOURCES}/namespaces/training/resourceclaimtemplates"
JOBS = "/apis/batch/v1/namespaces/training/jobs"
PODS = "/api/v1/namespaces/training/pods"

State = tuple[str, dict[str, str]]


def test_racks_have_domains_whose_channels_jobs_claim_and_that_go_before_the_driver(
    trying: Callable[[str], Sandbox],
) -> None:
    sandbox = trying("domains")
    sandbox.run("up", *sandbox.options)
    sandbox.up()
    assert_each_rack_has_a_domain(sandbox)
    assert_jobs_get_the_channels_of_their_rack(sandbox)
    assert_a_domain_of_a_number_of_nodes_is_ready_with_them(sandbox)
    assert_the_webhook_looks_at_gpus_alone(sandbox)
    assert_it_stays_and_goes(sandbox)
    for path in (f"{GROUP}/computedomains", f"{GROUP}/computedomaincliques", f"{RESOURCES}/resourceclaimtemplates"):
        assert sandbox.items(path) == []
    until(lambda: channels(sandbox) == {}, "no node publishes a channel")
    assert labelled(sandbox) == {}


def test_racks_at_oracle_have_the_domain_of_their_memory_fabric(cloud: Callable[..., CloudSandbox]) -> None:
    sandbox = cloud("oke-domains", "oci")
    sandbox.up(protect=False)
    assert_each_rack_has_a_domain(sandbox)
    assert_jobs_get_the_channels_of_their_rack(sandbox)
    assert sandbox.preview(protect=False).steps == {}
    sandbox.destroy(protect=False)
    sandbox.assert_nothing_is_left()


def assert_each_rack_has_a_domain(sandbox: Sandbox) -> None:
    """The controller has made what a domain needs, and calls one without nodes ready, since it states none."""
    racks = {f"rack-{name}": nodes_of(sandbox, name) for name in "ab"}
    published = {node: ["channel-0", "daemon-0"] for nodes in racks.values() for node in nodes}
    assert [len(nodes) for nodes in racks.values()] == [2, 2]
    until(lambda: channels(sandbox) == published, "each node has a channel")
    cliques = [{node["metadata"]["labels"][CLIQUE_LABEL] for node in nodes.values()} for nodes in racks.values()]
    assert [len(found) for found in (*cliques, set.union(*cliques))] == [1, 1, 2]
    for rack in racks:
        until(lambda rack=rack: named(sandbox, TEMPLATES, f"{rack}-channel"), f"{rack} has its template")
        until(lambda rack=rack: state(sandbox, rack) == ("Ready", {}), f"{rack} is ready")
        metadata = sandbox.api.get(f"{DOMAINS}/{rack}")["metadata"]
        assert metadata["finalizers"] == [DOMAIN_LABEL]
        template = sandbox.api.get(f"{TEMPLATES}/{rack}-channel")
        (config,) = template["spec"]["spec"]["devices"]["config"]
        assert config["opaque"]["parameters"]["domainID"] == metadata["uid"]
        assert daemons(sandbox, rack) == (0, 0)


def assert_jobs_get_the_channels_of_their_rack(sandbox: Sandbox) -> None:
    """Pods run in their rack, each on a node with a daemon that the domain lists; without a rack they run in both."""
    run_job(sandbox, "train", 2, "rack-b")
    nodes = set(nodes_of(sandbox, "b"))
    until(lambda: running(sandbox) == nodes, "both pods of the job run in their rack")
    until(lambda: state(sandbox, "rack-b") == ("Ready", dict.fromkeys(nodes, "Ready")), "the domain lists its nodes")
    until(lambda: daemons(sandbox, "rack-b") == (2, 2), "each of them has its daemon")
    assert (state(sandbox, "rack-a"), daemons(sandbox, "rack-a")) == (("Ready", {}), (0, 0))
    uid = sandbox.api.get(f"{DOMAINS}/rack-b")["metadata"]["uid"]
    assert labelled(sandbox) == dict.fromkeys(nodes, uid)
    cliques = {node["metadata"]["labels"][CLIQUE_LABEL] for node in nodes_of(sandbox, "b").values()}
    (listed,) = sandbox.items(CLIQUES)
    assert {listed["metadata"]["name"]} == {f"{uid}.{clique}" for clique in cliques}
    assert {entry["index"] for entry in listed["daemons"]} == {0, 1}
    end_job(sandbox, "train")

    run_job(sandbox, "wide", 4, "none")
    until(lambda: len(running(sandbox)) == 4, "a job without channels runs in both racks")
    assert labelled(sandbox) == {}
    end_job(sandbox, "wide")


def assert_a_domain_of_a_number_of_nodes_is_ready_with_them(sandbox: Sandbox) -> None:
    """It becomes ready with the last of its nodes, and is not with one less; a node has one channel for all domains."""
    sandbox.kill_controller(f"{DRIVER}-controller")
    channel = {"resourceClaimTemplate": {"name": "sized-channel"}}
    sized = {"kind": "ComputeDomain", "metadata": {"name": "sized"}, "spec": {"numNodes": 2, "channel": channel}}
    sandbox.api.post(DOMAINS, {"apiVersion": "resource.nvidia.com/v1beta1", **sized})
    until(lambda: state(sandbox, "sized") == ("NotReady", {}) and daemons(sandbox, "sized"), "the controller is back")

    nodes = ("rack-a-0", "rack-a-1")
    wanted: State = ("NotReady", {})
    for number, node in enumerate(nodes, 1):
        assert sandbox.run_pod(pod(f"sized-{number}", "sized-channel", node), PODS) == node
        wanted = ("Ready" if number == 2 else "NotReady", dict.fromkeys(nodes[:number], "Ready"))
        until(lambda wanted=wanted: state(sandbox, "sized") == wanted, f"the domain is {wanted}")
    sandbox.api.post(PODS, pod("late", "rack-a-channel"))
    until(lambda: "cannot allocate all claims" in why_pending(sandbox, "late"), "no channel of the rack is left")

    sandbox.remove_pods("sized-2", pods=PODS)
    until(lambda: sandbox.node_of("late", PODS) == "rack-a-1", "the channel that was given back is taken")
    until(lambda: state(sandbox, "sized") == ("NotReady", {"rack-a-0": "Ready"}), "a node has left the domain")
    until(lambda: set(state(sandbox, "rack-a")[1]) == {"rack-a-1"}, "and is in another")
    sandbox.remove_pods("sized-1", "late", pods=PODS)
    sandbox.api.delete(f"{DOMAINS}/sized")
    until(lambda: not named(sandbox, DOMAINS, "sized"), "its finalizer is taken off")
    assert not named(sandbox, TEMPLATES, "sized-channel")
    until(lambda: sandbox.items(CLIQUES) == [] and labelled(sandbox) == {}, "its daemons have left")


def assert_the_webhook_looks_at_gpus_alone(sandbox: Sandbox) -> None:
    """Switched on, it refuses a wrong configuration of GPUs, and passes over those of domains."""
    sandbox.up_with(software={"gpuDraDriver": {"values": {"webhook": {"enabled": True}}}})
    with pytest.raises(ApiError, match="configs failed to validate"):
        sandbox.api.post(TEMPLATES, claim_template("wrong", NVIDIA_GPU, "GpuConfig", domainID="x"))
    sandbox.api.post(TEMPLATES, claim_template("right", NVIDIA_GPU, "GpuConfig"))
    sandbox.api.post(TEMPLATES, claim_template("unseen", COMPUTE_DOMAIN, "ComputeDomainChannelConfig", unknown="x"))
    for name in ("right", "unseen"):
        sandbox.api.delete(f"{TEMPLATES}/{name}")
    sandbox.up()


def nodes_of(sandbox: Sandbox, rack: str) -> dict[str, Object]:
    """The nodes of a rack by name, found by the label that the stack file has for it."""
    nodes = sandbox.items("/api/v1/nodes")
    return {
        node["metadata"]["name"]: node for node in nodes if node["metadata"]["labels"].get("example.com/rack") == rack
    }


def channels(sandbox: Sandbox) -> dict[str, list[str]]:
    """Node -> the devices of domains that it publishes."""
    slices = (item["spec"] for item in sandbox.items(f"{RESOURCES}/resourceslices"))
    return {
        spec["nodeName"]: [device["name"] for device in spec["devices"]]
        for spec in slices
        if spec["driver"] == COMPUTE_DOMAIN
    }


def state(sandbox: Sandbox, name: str) -> State:
    """What the controller has written of a domain: its status, and that of each of its nodes."""
    status = sandbox.api.get(f"{DOMAINS}/{name}").get("status") or {}
    return status.get("status", ""), {node["name"]: node["status"] for node in status.get("nodes") or ()}


def daemons(sandbox: Sandbox, name: str) -> tuple[int, int] | None:
    """How many daemons of a domain are wanted, and how many are ready; None before it has a DaemonSet."""
    uid = sandbox.api.get(f"{DOMAINS}/{name}")["metadata"]["uid"]
    found = [item for item in sandbox.items(DAEMON_SETS) if item["metadata"]["name"] == f"computedomain-daemon-{uid}"]
    return (found[0]["status"]["desiredNumberScheduled"], found[0]["status"]["numberReady"]) if found else None


def labelled(sandbox: Sandbox) -> dict[str, str]:
    """Node -> the UID of the domain whose label it has."""
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in sandbox.items("/api/v1/nodes")}
    return {name: found[DOMAIN_LABEL] for name, found in labels.items() if DOMAIN_LABEL in found}


def named(sandbox: Sandbox, path: str, name: str) -> bool:
    return any(item["metadata"]["name"] == name for item in sandbox.items(path))


def run_job(sandbox: Sandbox, name: str, pods: int, rack: str) -> None:
    """Create a user's Job of whole nodes, to which the contract was attached."""
    container = {"name": "train", "image": "training:1", "resources": {"limits": {"nvidia.com/gpu": 4}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "training"}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    written = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    contract = read_contract(json.dumps(sandbox.outputs()["fabric"]))
    (made,) = attach([written], contract, AttachOptions(containers=("train",), rack=rack)).documents
    sandbox.api.post(JOBS, made)


def end_job(sandbox: Sandbox, name: str) -> None:
    """Delete a job, after which no daemon is left."""
    sandbox.api.delete(f"{JOBS}/{name}?propagationPolicy=Foreground")
    until(lambda: sandbox.items(PODS) == [], f"the pods of {name} are gone")
    until(lambda: sandbox.items(CLIQUES) == [] and labelled(sandbox) == {}, "the daemons go with the pods")
    until(lambda: state(sandbox, "rack-b") == ("Ready", {}), "the domain has no node")


def running(sandbox: Sandbox) -> set[str]:
    """The nodes on which pods of jobs run."""
    return {pod["spec"]["nodeName"] for pod in sandbox.items(PODS) if pod["status"].get("phase") == "Running"}


def why_pending(sandbox: Sandbox, name: str) -> str:
    conditions = sandbox.api.get(f"{PODS}/{name}")["status"].get("conditions") or ()
    return next((str(entry.get("message")) for entry in conditions if entry["type"] == "PodScheduled"), "")


def pod(name: str, template: str, node: str | None = None) -> Object:
    """A pod with a channel, on one node or anywhere in rack a."""
    place = {"kubernetes.io/hostname": node} if node else {"example.com/rack": "a"}
    container = {"name": "train", "image": "training:1", "resources": {"claims": [{"name": "nvlink"}]}}
    spec = {
        "containers": [container],
        "nodeSelector": place,
        "resourceClaims": [{"name": "nvlink", "resourceClaimTemplateName": template}],
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim_template(name: str, driver: str, kind: str, **parameters: Any) -> Object:
    """A template of claims with an opaque configuration of the driver's."""
    written = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **parameters}
    devices = {
        "requests": [{"name": "device", "exactly": {"deviceClassName": "compute-domain-daemon.nvidia.com"}}],
        "config": [{"requests": ["device"], "opaque": {"driver": driver, "parameters": written}}],
    }
    return {"metadata": {"name": name}, "spec": {"spec": {"devices": devices}}}
