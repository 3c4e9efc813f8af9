"""A cluster of AMD's GPUs with Broadcom's NICs that has software of its own: up, jobs by the contract, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, Sandbox, until
from lived_in import assert_as_before, settled
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
# Definitions in a chart's folder crds/, which Helm never deletes; they hold no object.
_LEFT_BY_HELM = {"network-attachment-definitions.k8s.cni.cncf.io", "sriovoperatorconfigs.sriovnetwork.openshift.io"}


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
    before = settled(sandbox.api)

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
    assert_as_before(before, sandbox.api, left=_LEFT_BY_HELM)
