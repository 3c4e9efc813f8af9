"""A cluster of AMD's GPUs with Broadcom's NICs that has software of its own: up, jobs by the contract, and back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driver import DEFINITIONS, PODS, Sandbox, until
from whole_lives import assert_just_what_is_planned

from gpu_fabric.attach.attachment import attach
from gpu_fabric.contract import read_contract
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.prepare import prepare_stack
from sandbox.home import project_root
from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.sandbox

STACK = "mi300x-macvlan"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
# What the API server writes by itself, and what belongs to the life of nodes and controllers.
_OF_THE_SERVER = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp")
# Seconds that controllers may take to tidy up after a destroy.
_AT_REST = 30
# Definitions in a chart's folder crds/, which Helm never deletes; they hold no object.
_LEFT_BY_HELM = ("network-attachment-definitions.k8s.cni.cncf.io", "sriovoperatorconfigs.sriovnetwork.openshift.io")
_SHOWN = 160
_PASSING = {"Event", "Lease", "Endpoints", "EndpointSlice", "ControllerRevision", "APIService"}


def listable(sandbox: Sandbox) -> Iterator[str]:
    """The path of every kind's list, each kind once."""
    groups = ["/api/v1"]
    served = sandbox.api.get("/apis")["groups"]
    # The players of the sandbox keep their own books in KWOK's kinds.
    groups += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in served if "kwok" not in group["name"]]
    for group in groups:
        for kind in sandbox.api.get(group)["resources"]:
            if "/" not in kind["name"] and "list" in kind["verbs"] and kind["kind"] not in _PASSING:
                yield f"{group}/{kind['name']}"


def everything(sandbox: Sandbox) -> dict[str, Object]:
    """Every object of the cluster by its path; of nodes without the times of their life signs."""
    found: dict[str, Object] = {}
    for path in listable(sandbox):
        for item in sandbox.items(path):
            metadata = {key: value for key, value in item["metadata"].items() if key not in _OF_THE_SERVER}
            kept = {**item, "metadata": metadata}
            if path == "/api/v1/nodes":
                # A kubelet goes on to offer none of a resource whose plug-in is gone.
                kept["status"] = {
                    key: {name: amount for name, amount in item["status"][key].items() if amount != "0"}
                    for key in ("allocatable", "capacity")
                }
            if "annotations" in metadata:
                own = {key: text for key, text in metadata["annotations"].items() if not key.startswith("sandbox.")}
                metadata["annotations"] = own
            name = f"{path} {metadata.get('namespace', '')}/{metadata['name']}"
            found[name] = kept
    return found


def left_over(sandbox: Sandbox) -> dict[str, Object]:
    """Every object of the cluster but the definitions that Helm leaves."""
    left = {f"{DEFINITIONS} /{name}" for name in _LEFT_BY_HELM}
    return {name: item for name, item in everything(sandbox).items() if name not in left}


def changes(before: Any, after: Any, place: str) -> Iterator[str]:
    """Every field that came, went or changed, with its place."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from changes(before.get(key), after.get(key), f"{place} {key}")
    elif before != after:
        yield f"{place}: {json.dumps(before)[:_SHOWN]} -> {json.dumps(after)[:_SHOWN]}"


def training(nodes: int) -> Object:
    """A Job of the user's own, which knows nothing of the fabric but that it wants whole nodes."""
    container = {"name": "train", "image": "rocm/pytorch:6.4", "resources": {"limits": {"amd.com/gpu": 8}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "parallelism": nodes,
            "completions": nodes,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def plant(sandbox: Sandbox) -> None:
    """What the cluster had before: a namespace with a configuration, and a pod's account."""
    sandbox.api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "people"}})
    settings: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "own"},
        "data": {"a": "b"},
    }
    sandbox.api.post("/api/v1/namespaces/people/configmaps", settings)


def running(sandbox: Sandbox) -> list[Object]:
    return [pod for pod in sandbox.items(PODS) if pod["status"].get("phase") == "Running"]


def test_amd_servers_with_broadcom_nics_come_up_run_jobs_by_the_contract_and_are_left_as_they_were(
    trying: Callable[[str], Sandbox],
) -> None:
    sandbox = trying(STACK)
    sandbox.run("up", *sandbox.options)
    plant(sandbox)
    until(lambda: len(sandbox.allocatable("amd.com/gpu")) == 2, "both nodes offer their GPUs")
    before = until(lambda: (now := everything(sandbox)) == everything(sandbox) and now, "the cluster is at rest")

    sandbox.up()
    contract = read_contract(json.dumps(sandbox.outputs()["fabric"]))
    job = attach([training(contract.nodes)], contract).documents[0]
    sandbox.api.post(JOBS, job)
    pods = until(lambda: len(found := running(sandbox)) == contract.nodes and found, "a pod runs on every node")

    assert {pod["spec"]["nodeName"] for pod in pods} == sandbox.allocatable("amd.com/gpu").keys()
    assert all(pod["spec"]["nodeSelector"] == {"machine": "mi300x"} for pod in pods)
    networks = [entry["name"] for entry in json.loads(pods[0]["metadata"]["annotations"][NETWORKS_ANNOTATION])]
    assert len(networks) == 8
    asked = pods[0]["spec"]["containers"][0]["resources"]["limits"]
    assert {name: asked[name] for name in asked if name != "amd.com/gpu"} == dict.fromkeys(
        contract.devices.keys() - {"amd.com/gpu"}, "1"
    )

    sandbox.api.delete(f"{JOBS}/train?propagationPolicy=Foreground")
    until(lambda: not sandbox.items(PODS), "the job's pods are gone")
    assert_just_what_is_planned(sandbox.state().resources, prepare_stack(STACK, project_root()))
    assert f"{sandbox.counted} unchanged" in sandbox.up()

    sandbox.run("pulumi", "destroy", *sandbox.options)
    end = time.monotonic() + _AT_REST
    while (found := list(changes(before, left_over(sandbox), ""))) and time.monotonic() < end:
        time.sleep(1)
    assert not found, "\n".join(found)
