"""One bad rail closes one rail: parts of the node and repair jobs go on, whole nodes wait, and it opens by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from driver import PODS, Sandbox, until

from sandbox.hardware.measuring.run import AILMENTS_ANNOTATION
from sandbox.kubernetes_api import Api, ApiError, Object

pytestmark = pytest.mark.slow

NODES = "/api/v1/nodes"
RESOURCES = "/apis/resource.k8s.io/v1"
RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
NODE, RAIL = "gpu-1", 3
RULE = f"gpu-fabric-readiness-{NODE}-{RAIL:02d}"
SECTION: dict[str, Any] = {
    "readiness": {"closes": "rail", "seconds": 10},
    "claims": {"nri": True, "gpus": "claims", "sizes": ["node", "repair"]},
}


def job(name: str, template: str) -> Object:
    """A pod that claims devices of one node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "busybox", "resources": {"claims": [{"name": "nics"}]}}],
            "resourceClaims": [{"name": "nics", "resourceClaimTemplateName": template}],
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }


def condition(sandbox: Sandbox) -> Object:
    entries = sandbox.api.get(f"{NODES}/{NODE}")["status"]["conditions"]
    return next((entry for entry in entries if entry["type"] == "gpu-fabric.dev/FabricReady"), {})


def set_rail(sandbox: Sandbox, ailment: str | None) -> None:
    text = None if ailment is None else json.dumps({str(RAIL): ailment})
    sandbox.api.patch(f"{NODES}/{NODE}", {"metadata": {"annotations": {AILMENTS_ANNOTATION: text}}})


def test_one_bad_rail_closes_its_nic_and_no_more(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("dranet-infiniband")
    sandbox.run("up", *sandbox.options)
    sandbox.up_with(fabric=SECTION)
    until(lambda: condition(sandbox).get("reason") == "Proven", "the node is proven")
    assert sandbox.items(RULES) == []

    set_rail(sandbox, "slow")
    until(lambda: condition(sandbox).get("reason") == "RailsClosed", "the rail is closed")
    assert [item["metadata"]["name"] for item in sandbox.items(RULES)] == [RULE]
    taints = [taint["key"] for taint in sandbox.api.get(f"{NODES}/{NODE}")["spec"].get("taints", [])]
    assert not [key for key in taints if "gpu-fabric" in key]

    # Seven NICs are left for a part of the node; a whole node waits; a repair job gets all of them.
    part = {"requests": [{"name": "nics", "exactly": {"deviceClassName": "fabric-nics", "count": 7}}]}
    templates = f"{RESOURCES}/namespaces/default/resourceclaimtemplates"
    sandbox.api.post(templates, {"metadata": {"name": "seven"}, "spec": {"spec": {"devices": part}}})
    sandbox.run_pod(job("part", "seven"))
    sandbox.remove_pods("part")
    sandbox.api.delete(f"{templates}/seven")
    sandbox.api.post(PODS, job("whole", "fabric-node"))
    until(lambda: "cannot allocate all claims" in said(sandbox, "whole"), "the whole node is not given")
    sandbox.run_pod(job("repair", "fabric-repair"))
    sandbox.remove_pods("repair")
    assert sandbox.node_of("whole") == ""

    set_rail(sandbox, None)
    until(lambda: sandbox.node_of("whole") == NODE, "the rail is open, and the whole node is given")
    assert sandbox.items(RULES) == []
    sandbox.remove_pods("whole")
    assert_other_rules_are_refused(sandbox)


def said(sandbox: Sandbox, name: str) -> str:
    """Why the scheduler gave a pod no node."""
    conditions = sandbox.api.get(f"{PODS}/{name}")["status"].get("conditions") or ()
    return next((str(entry.get("message")) for entry in conditions if entry["type"] == "PodScheduled"), "")


def assert_other_rules_are_refused(sandbox: Sandbox) -> None:
    """A token of a node's proof closes no rail of another node, and writes no other taint."""
    account = "/api/v1/namespaces/dranet/serviceaccounts/fabric-readiness/token"
    pods = sandbox.items("/api/v1/namespaces/dranet/pods")
    own = [item for item in pods if item["spec"].get("serviceAccountName") == "fabric-readiness"]
    (pod,) = (item["metadata"] for item in own if item["spec"].get("nodeName") == NODE)
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"]}
    request = {"audiences": None, "boundObjectRef": bound}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": request}
    client = Api(sandbox.home.kubeconfig, token=sandbox.api.post(account, asked)["status"]["token"])
    for pool, key in (("gpu-0", "gpu-fabric.dev/rail-not-ready"), (NODE, "others")):
        selector = {"driver": "dra.net", "pool": pool, "device": "pci-0000-0c-00-0"}
        spec = {"deviceSelector": selector, "taint": {"key": key, "effect": "NoSchedule"}}
        with pytest.raises(ApiError, match="the pods that prove nodes may"):
            client.post(RULES, {"metadata": {"name": f"gpu-fabric-readiness-{pool}-00"}, "spec": spec})
