"""Fabric-ready nodes on a real control plane: jobs land on proven nodes alone, by the program that the pods run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from driver import PODS, Sandbox, until

from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.spec.load import read_document, validate
from sandbox.hardware.watching import key_of
from sandbox.home import project_root
from sandbox.kubernetes_api import STRATEGIC_PATCH
from sandbox.simulated_nodes import desired_nodes

STACK = "readiness"
TAINT = "startup-taint.cluster-autoscaler.kubernetes.io/gpu-fabric-not-ready"
NODES = "/api/v1/nodes"
FIRST, SECOND = "h200-0", "h200-1"
NAMESPACE = "nvidia-network-operator"


class Proofs:
    """The nodes of a sandbox, what proves them, and jobs for them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.api = sandbox.api
        self._jobs: list[str] = []

    def node(self, name: str) -> dict[str, Any]:
        return self.api.get(f"{NODES}/{name}")

    def condition(self, name: str) -> dict[str, str]:
        found = self.node(name)["status"].get("conditions", ())
        return next((entry for entry in found if entry["type"] == FABRIC_READY), {})

    def is_closed(self, name: str) -> bool:
        return any(taint["key"] == TAINT for taint in self.node(name)["spec"].get("taints", ()))

    def annotate(self, name: str, **annotations: str | None) -> None:
        own = {f"gpu-fabric.dev/{key}": text for key, text in annotations.items()}
        self.api.patch(f"{NODES}/{name}", {"metadata": {"annotations": own}})

    def wait(self, name: str, status: str, reason: str) -> str:
        """Wait for a condition, and the taint that goes with it; gives the condition's message."""
        until(
            lambda: (
                (self.condition(name).get("status"), self.condition(name).get("reason")) == (status, reason)
                and self.is_closed(name) == (status != "True")
            ),
            f"{name} is {status} ({reason}); it is {self.condition(name)}",
        )
        return self.condition(name)["message"]

    def job(self, name: str, node: str) -> None:
        """A pod of a job from the contract, for one node by its name's label."""
        pod = self.sandbox.pod(name)
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        self.api.post(PODS, pod)
        self._jobs.append(name)

    def placed(self, name: str) -> str:
        found: str = self.api.get(f"{PODS}/{name}")["spec"].get("nodeName", "")
        return found

    def is_refused_by_taint(self, name: str) -> bool:
        conditions = self.api.get(f"{PODS}/{name}")["status"].get("conditions", ())
        return any(
            entry["type"] == "PodScheduled" and "untolerated taint" in entry.get("message", "") for entry in conditions
        )

    def finish(self) -> None:
        self.sandbox.remove_pods(*self._jobs)
        self._jobs.clear()


@pytest.fixture(scope="module")
def proving(cluster: Sandbox) -> Sandbox:
    """A sandbox with the stack up."""
    sandbox = cluster.trying(STACK)
    sandbox.up()
    return sandbox


@pytest.fixture
def proofs(proving: Sandbox) -> Iterator[Proofs]:
    """The nodes, all proven; a test that fails leaves nothing to the next."""
    proofs = Proofs(proving)
    for name in (FIRST, SECOND):
        proofs.wait(name, "True", "Proven")
    try:
        yield proofs
    finally:
        proofs.finish()
        for rail in (0, 3):
            proving.run("rail", FIRST, str(rail), "well")


def test_nodes_join_with_the_taint_and_take_jobs_when_they_are_proven(proofs: Proofs) -> None:
    assert proofs.condition(FIRST)["message"] == "8 rails, what they offer and what serves them are as planned"
    assert TAINT not in json.dumps(proofs.sandbox.outputs()["fabric"])
    spec, problems = validate(read_document(STACK, project_root()))
    assert spec is not None, problems
    taint = {"key": TAINT, "value": "pending", "effect": "NoSchedule"}
    joined = [node for node in desired_nodes(spec) if node["metadata"]["name"] in (FIRST, SECOND)]

    # What the kubelet registers, in the sandbox as on a real node; nothing but the proof takes it off.
    assert all(taint in node["spec"]["taints"] for node in joined)
    proofs.job("first", FIRST)
    until(lambda: proofs.placed("first") == FIRST, "the job has its node")
    assert not proofs.is_closed(FIRST)


def test_a_broken_rail_closes_its_node_to_new_jobs_and_leaves_running_ones_alone(proofs: Proofs) -> None:
    proofs.job("running", FIRST)
    until(lambda: proofs.placed("running") == FIRST, "the job runs")

    proofs.sandbox.run("rail", FIRST, "3", "slow")
    message = proofs.wait(FIRST, "False", "LinkSlow")
    proofs.job("next", FIRST)
    until(lambda: proofs.is_refused_by_taint("next"), "the scheduler names the taint")
    running = proofs.api.get(f"{PODS}/running")

    assert "rail 3 (0000:" in message
    assert "runs at 200 Gb/s, not 400" in message
    assert running["status"]["phase"] == "Running"
    assert "deletionTimestamp" not in running["metadata"]
    assert proofs.condition(SECOND)["status"] == "True"
    proofs.sandbox.remove_pods("running")
    proofs._jobs.remove("running")
    proofs.sandbox.run("rail", FIRST, "3", "well")
    proofs.wait(FIRST, "True", "Proven")
    until(lambda: proofs.placed("next") == FIRST, "the job that waited has its node")


def test_a_missing_rdma_device_and_a_device_plug_in_that_is_gone_are_told_apart(proofs: Proofs) -> None:
    proofs.sandbox.run("rail", FIRST, "0", "missing")
    message = proofs.wait(FIRST, "False", "RdmaDeviceMissing")
    proofs.sandbox.run("rail", FIRST, "0", "well")
    proofs.wait(FIRST, "True", "Proven")

    assert message.endswith("the NIC has no RDMA device")


def test_a_pod_of_the_fabric_that_is_not_ready_closes_its_node(proofs: Proofs) -> None:
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    listed = proofs.api.get(pods, fieldSelector=f"spec.nodeName={FIRST}")["items"]
    multus = next(pod for pod in listed if key_of(pod).startswith(f"{NAMESPACE}/kube-multus-ds"))
    failed = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    proofs.api.patch(f"{pods}/{multus['metadata']['name']}/status", failed, STRATEGIC_PATCH)

    message = proofs.wait(FIRST, "False", "PodNotReady")
    well = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    proofs.api.patch(f"{pods}/{multus['metadata']['name']}/status", well, STRATEGIC_PATCH)
    proofs.wait(FIRST, "True", "Proven")

    assert message == "the pod of the DaemonSet kube-multus-ds is not ready"


def test_a_node_that_has_booted_again_is_closed_until_it_is_proven_in_this_boot(proofs: Proofs) -> None:
    before = proofs.node(FIRST)["metadata"]["annotations"]["gpu-fabric.dev/proved-boot"]
    # A NIC that a pod may have is believed to be well only if it was seen since the node's start.
    proofs.sandbox.run("rail", FIRST, "0", "missing")
    proofs.wait(FIRST, "False", "RdmaDeviceMissing")
    booted = {"status": {"nodeInfo": {"bootID": "second-boot"}}}
    proofs.api.patch(f"{NODES}/{FIRST}/status", booted, STRATEGIC_PATCH)
    assert proofs.node(FIRST)["metadata"]["annotations"]["gpu-fabric.dev/proved-boot"] == before
    proofs.sandbox.run("rail", FIRST, "0", "well")
    proofs.wait(FIRST, "True", "Proven")

    assert proofs.node(FIRST)["metadata"]["annotations"]["gpu-fabric.dev/proved-boot"] == "second-boot"


def test_who_asks_for_a_proof_gets_it_with_the_condition_that_goes_with_it(proofs: Proofs) -> None:
    proofs.annotate(FIRST, prove="wave 3")
    until(
        lambda: proofs.node(FIRST)["metadata"]["annotations"].get("gpu-fabric.dev/proved") == "wave 3",
        "the proof is given",
    )
    assert proofs.condition(FIRST)["status"] == "True"

    proofs.sandbox.run("rail", FIRST, "0", "missing")
    # A played node's files are those of the moment before the program starts: one that runs does not see the fault.
    proofs.wait(FIRST, "False", "RdmaDeviceMissing")
    proofs.annotate(FIRST, prove="wave 4")
    until(
        lambda: proofs.node(FIRST)["metadata"]["annotations"].get("gpu-fabric.dev/proved") == "wave 4",
        "the second proof is given",
    )
    assert proofs.condition(FIRST)["status"] == "False"
    proofs.sandbox.run("rail", FIRST, "0", "well")


def test_a_node_is_measured_with_its_neighbour_where_the_stack_asks_for_it(proofs: Proofs) -> None:
    def measured(text: str) -> None:
        until(
            lambda: proofs.node(FIRST)["metadata"]["annotations"].get("gpu-fabric.dev/proved") == text,
            f"{text} is answered; the condition is {proofs.condition(FIRST)}",
        )

    def pair() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(proofs.node(FIRST)["metadata"]["annotations"]["gpu-fabric.dev/pair"])
        return found

    proofs.sandbox.up_with(fabric={"readiness": {"pair": {}}})
    pods = f"{PODS}?labelSelector=gpu-fabric/component%3Dfabric-pair"
    proofs.annotate(FIRST, prove="a new cable")
    measured("a new cable")
    message = proofs.wait(FIRST, "True", "Proven")
    assert message.endswith(f"; measured with {SECOND}: the slowest rail, 0, has 392 of 400 Gb/s")
    until(lambda: not proofs.api.get(pods)["items"], "the pods are gone")

    # The link is up and at its rate: no look finds this.
    proofs.sandbox.run("rail", FIRST, "3", "lossy")
    proofs.annotate(FIRST, prove="a worse cable")
    until(lambda: "slow" in pair(), "the pair was measured")
    record = pair()
    # There is no third node; ten minutes pass.
    proofs.annotate(FIRST, pair=json.dumps({**record, "since": record["since"] - 601}))
    measured("a worse cable")
    message = proofs.wait(FIRST, "False", "PairSlow")
    assert message.startswith(f"with {SECOND}: rail 3: 156.8 of 400 Gb/s to it; rail 3: 156.8 of 400 Gb/s from it; no")
    assert proofs.condition(SECOND)["status"] == "True"

    proofs.sandbox.run("rail", FIRST, "3", "well")
    proofs.annotate(FIRST, prove="the old cable")
    measured("the old cable")
    proofs.wait(FIRST, "True", "Proven")
