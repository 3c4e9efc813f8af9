"""Namespaces with a share of the nodes, on real Kueue and Volcano: what is admitted, lent, given back and refused."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from driver import Sandbox, until
from gated_operator import gated

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.contract import FabricContract, read_contract
from sandbox.kubernetes_api import ApiError, Object

NAMESPACES: list[Any] = [
    "default",
    {"name": "team-a", "create": True, "share": {"nodes": 2}},
    {"name": "team-b", "create": True, "share": {"nodes": 2, "mostNodes": 4}},
]
GPU = "nvidia.com/gpu"
TEAM_A = "/api/v1/namespaces/team-a"
ALL_CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"


class Shared(NamedTuple):
    """A stack whose nodes are shared: by which schedulers, and what its fabric is besides.

    Volcano's queues do not count claims (DRA007, DRA019). With `by_name` claims answer pods that name resources.
    """

    schedulers: dict[str, Any]
    fabric: dict[str, Any] = {}

    @property
    def by_name(self) -> bool:
        return "devices" in self.fabric


STACKS = {
    "host-device": Shared({"kueue": {}, "volcano": {}}),
    "dranet-infiniband": Shared({"kueue": {}}),
    "externally-managed": Shared({"kueue": {}}, {"devices": "claims"}),
}


def job(contract: FabricContract, namespace: str, nodes: int) -> Object:
    """A user's Job of whole nodes, with the fabric attached."""
    container: Object = {"name": "train", "image": "training:1"}
    if not contract.claims:
        container["resources"] = {"limits": {GPU: 8}}
    written = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"train-{nodes}", "namespace": namespace},
        "spec": {
            "parallelism": nodes,
            "completions": nodes,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    return attach([written], contract, AttachOptions(containers=("train",))).documents[0]


def start(sandbox: Sandbox, contract: FabricContract, namespace: str, nodes: int) -> str:
    sandbox.api.post(f"/apis/batch/v1/namespaces/{namespace}/jobs", job(contract, namespace, nodes))
    return f"train-{nodes}"


def stop(sandbox: Sandbox, namespace: str, name: str) -> None:
    sandbox.api.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}?propagationPolicy=Foreground")
    until(lambda: not pods(sandbox, namespace), f"the pods of {namespace} are gone")


def pods(sandbox: Sandbox, namespace: str) -> list[Object]:
    return sandbox.items(f"/api/v1/namespaces/{namespace}/pods")


def running(sandbox: Sandbox, namespace: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in pods(sandbox, namespace) if pod["status"].get("phase") == "Running"]


def why_pending(sandbox: Sandbox, namespace: str) -> str:
    """What Kueue says of the namespace's one workload that has no quota."""
    workloads = sandbox.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads")
    conditions = [entry for workload in workloads for entry in workload.get("status", {}).get("conditions", [])]
    return next((entry["message"] for entry in conditions if entry["type"] == "QuotaReserved"), "")


@pytest.mark.parametrize("stack", STACKS)
def test_shares_are_kept_lent_and_limited(trying: Callable[[str], Sandbox], stack: str) -> None:
    sandbox, shared = trying(stack), STACKS[stack]
    sandbox.run("up", *sandbox.options)
    sandbox.up_with(fabric={"namespaces": NAMESPACES, **shared.fabric}, software={"schedulers": shared.schedulers})
    with gated(sandbox) if shared.by_name else contextlib.nullcontext():
        assert_shares(sandbox)
    if "volcano" in shared.schedulers:
        assert_volcano_shares(sandbox)


def assert_shares(sandbox: Sandbox) -> None:
    contract = read_contract(json.dumps(sandbox.outputs()["fabric"]))
    assert contract.nodes == 4

    # More than the share waits in its queue, and never reaches the quota.
    large = start(sandbox, contract, "team-a", 3)
    until(lambda: "insufficient" in why_pending(sandbox, "team-a"), "Kueue says that the share is too small")
    assert pods(sandbox, "team-a") == []
    sandbox.api.delete(f"/apis/batch/v1/namespaces/team-a/jobs/{large}?propagationPolicy=Foreground")
    until(lambda: not sandbox.items("/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads"), "it is gone")

    # A share that nobody uses is lent, and comes back when its namespace asks.
    start(sandbox, contract, "team-b", 4)
    until(lambda: len(set(running(sandbox, "team-b"))) == 4, "team-b has all nodes")
    own = start(sandbox, contract, "team-a", 2)
    until(lambda: len(set(running(sandbox, "team-a"))) == 2, "team-a has its nodes back")
    until(lambda: running(sandbox, "team-b") == [], "the job that had borrowed them waits")

    # A pod that is in no queue is refused by the quota; one with a claim waits, since its claim is refused.
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "beside"}, "spec": pod_spec(contract)}
    if contract.claims:
        sandbox.api.post(f"{TEAM_A}/pods", pod)
        until(lambda: any("exceeded quota: gpu-fabric" in text for text in events(sandbox, "beside")), "it is refused")
        assert len(running(sandbox, "team-a")) == 2
        sandbox.remove_pods("beside", pods=f"{TEAM_A}/pods")
    else:
        with pytest.raises(ApiError, match="exceeded quota: gpu-fabric"):
            sandbox.api.post(f"{TEAM_A}/pods", pod)
    if STACKS[sandbox.stack].by_name or contract.claims:
        results = [entry for item in sandbox.items(ALL_CLAIMS) for entry in devices_of(item)]
        held = Counter((entry["driver"], entry["pool"], entry["device"]) for entry in results)
        assert set(held.values()) == {1}
        assert {node for _, node, _ in held} == set(running(sandbox, "team-a"))
    stop(sandbox, "team-a", own)


def devices_of(claim: Object) -> list[Object]:
    """What a claim got."""
    allocation = claim.get("status", {}).get("allocation") or {"devices": {"results": []}}
    found: list[Object] = allocation["devices"]["results"]
    return found


def events(sandbox: Sandbox, pod: str) -> list[str]:
    """What is said of a pod of team-a."""
    found = sandbox.items(f"{TEAM_A}/events")
    return [str(entry.get("message")) for entry in found if entry["involvedObject"]["name"] == pod]


def assert_volcano_shares(sandbox: Sandbox) -> None:
    queue = sandbox.api.get("/apis/scheduling.volcano.sh/v1beta1/queues/tenant-team-b")
    assert queue["status"]["state"] == "Open"
    assert queue["spec"]["guarantee"]["resource"][GPU] == "16"


def pod_spec(contract: FabricContract) -> dict[str, Any]:
    """A pod of a whole node, without a queue."""
    patch: dict[str, Any] = json.loads(json.dumps(contract.pod_template_patch))["spec"]
    (container,) = patch["containers"]
    return {**patch, "containers": [{**container, "image": "training:1"}]}
