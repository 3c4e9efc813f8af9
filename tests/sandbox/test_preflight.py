"""A plan compared with clusters as people have them: what is in the way is found, refused by `up`, and then gone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import yaml
from doctoring import VALIDATING, hook, is_answered
from driver import DEFINITIONS, STACK, Sandbox, until
from lived_in import install_by_hand

from sandbox.home import project_root

NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
ENFORCE = "pod-security.kubernetes.io/enforce"
POOL = "old-pool"
# By rule: what the lived-in cluster below has.
EXPECTED = {
    "PRE010": "Deployment gpu-operator-system/gpu-operator",
    "PRE013": "Deployment gpu-operator-system/",
    "PRE014": "DaemonSet gpu-operator-system/nvidia-device-plugin-daemonset",
    "PRE032": "ClusterPolicy cluster-policy",
    "PRE042": "Namespace default",
    "PRE062": "Node gpu-1",
    "PRE083": "NetworkAttachmentDefinition default/old-pool",
    "PRE090": "ValidatingWebhookConfiguration policy-engine",
}


def preflight(sandbox: Sandbox) -> tuple[int, list[dict[str, Any]]]:
    """Exit status and differences, by the sandbox's kubectl."""
    command = [sys.executable, "-m", "gpu_fabric", "preflight", "-s", STACK, "--format", "json"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(sandbox.home.kubeconfig)],
        cwd=project_root(),
        env={**sandbox.environment, "KUBECTL": str(sandbox.home.root / "bin" / "kubectl")},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def labels(sandbox: Sandbox, profile: str | None) -> None:
    sandbox.api.patch("/api/v1/namespaces/default", {"metadata": {"labels": {ENFORCE: profile}}})


def taints(sandbox: Sandbox, change: Any) -> None:
    path = "/api/v1/nodes/gpu-1"
    sandbox.api.patch(path, {"spec": {"taints": change(sandbox.api.get(path)["spec"].get("taints", []))}})


def live_in(sandbox: Sandbox) -> None:
    """Use a cluster: operators by Helm, strict Pod Security, a webhook that nobody serves, a pool, a node kept back."""
    install_by_hand(sandbox, "gpu-operator", "gpu-operator-system")
    (file,) = (project_root() / "sandbox/charts/26.4/network-operator/crds").glob("k8s.cni.cncf.io_*.yaml")
    sandbox.api.post(DEFINITIONS, yaml.safe_load(file.read_text()))
    config = {"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts", "range": "192.168.32.0/24"}}
    network = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": POOL, "namespace": "default"},
        "spec": {"config": json.dumps(config)},
    }
    until(lambda: is_answered(lambda: sandbox.api.post(NETWORKS, network)), "the kind is served")
    labels(sandbox, "restricted")
    taints(sandbox, lambda present: [*present, {"key": "kept-back", "effect": "NoSchedule"}])
    rules = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
    sandbox.api.post(VALIDATING, hook("policy-engine", "policy", "engine", rules=rules))


def move_out(sandbox: Sandbox) -> None:
    """Do what the remedies say."""
    sandbox.api.delete(f"{VALIDATING}/policy-engine")
    taints(sandbox, lambda present: [taint for taint in present if taint["key"] != "kept-back"])
    labels(sandbox, None)
    sandbox.api.delete(f"{NETWORKS}/{POOL}")
    sandbox.helm("uninstall", "gpu-operator", "--namespace", "gpu-operator-system", "--wait")


def test_what_is_in_the_way_is_found_refused_and_gone_after_its_remedy(cluster: Sandbox) -> None:
    cluster.run("up", "-s", STACK)
    assert preflight(cluster) == (0, []), "a clean cluster"

    live_in(cluster)
    status, found = preflight(cluster)
    assert status == 1
    assert sorted(entry["id"] for entry in found) == sorted(EXPECTED), found
    for entry in found:
        assert entry["seen"][0]["object"].startswith(EXPECTED[entry["id"]]), entry

    refused = cluster.run("pulumi", "up", *cluster.options, status=1)
    assert "7 problems, nothing was created." in refused
    assert "error PRE090" in refused
    assert not cluster.items("/apis/mellanox.com/v1alpha1/nicclusterpolicies")
    assert "gpu-operator" not in {item["metadata"]["name"] for item in cluster.items("/api/v1/namespaces")}

    move_out(cluster)
    until(lambda: preflight(cluster) == (0, []), "every remedy was followed")
    assert " PRE" not in cluster.up()
    assert preflight(cluster) == (0, []), "its own objects"
    assert " PRE" not in cluster.up()
    cluster.run("pulumi", "destroy", *cluster.options)
    assert preflight(cluster) == (0, []), "what destroy leaves"
