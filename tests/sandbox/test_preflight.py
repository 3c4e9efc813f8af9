"""A plan compared with clusters as people have them: what is in the way is found, refused by `up`, and then gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driver import STACK, Sandbox, until

from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
GROUPS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
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
    return done.returncode, json.loads(done.stdout)["differences"]


def labels(sandbox: Sandbox, profile: str | None) -> None:
    sandbox.api.patch("/api/v1/namespaces/default", {"metadata": {"labels": {ENFORCE: profile}}})


def taints(sandbox: Sandbox, change: Any) -> None:
    path = "/api/v1/nodes/gpu-1"
    sandbox.api.patch(path, {"spec": {"taints": change(sandbox.api.get(path)["spec"].get("taints", []))}})


def live_in(sandbox: Sandbox) -> None:
    """Use a cluster: operators by Helm, strict Pod Security, a webhook that nobody serves, a pool, a node kept back."""
    sandbox.install("gpu-operator")
    definitions = project_root() / "sandbox/charts/26.4/network-operator/crds"
    (networks,) = definitions.glob("k8s.cni.cncf.io_*.yaml")
    apply(sandbox, networks)
    config = {"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts", "range": "192.168.32.0/24"}}
    network = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": POOL, "namespace": "default"},
        "spec": {"config": json.dumps(config)},
    }
    until(lambda: created(sandbox, NETWORKS, network), "the kind is served")
    labels(sandbox, "restricted")
    taints(sandbox, lambda present: [*present, {"key": "kept-back", "effect": "NoSchedule"}])
    hook = {
        "name": "pods.policy-engine.example",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "policy", "name": "engine"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    sandbox.api.post(WEBHOOKS, {**kind, "metadata": {"name": "policy-engine"}, "webhooks": [hook]})


def apply(sandbox: Sandbox, file: Path) -> None:
    command = [str(sandbox.home.root / "bin" / "kubectl"), "--kubeconfig", str(sandbox.home.kubeconfig)]
    subprocess.run([*command, "create", "-f", str(file)], check=True, capture_output=True)


def created(sandbox: Sandbox, path: str, item: dict[str, Any]) -> bool:
    try:
        sandbox.api.post(path, item)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


def move_out(sandbox: Sandbox) -> None:
    """Do what the remedies say."""
    sandbox.api.delete(f"{WEBHOOKS}/policy-engine")
    taints(sandbox, lambda present: [taint for taint in present if taint["key"] != "kept-back"])
    labels(sandbox, None)
    sandbox.api.delete(f"{NETWORKS}/{POOL}")
    helm = ensure(["helm"], Progress()).folder("helm") / "helm"
    place = ["--namespace", "gpu-operator-system", "--kubeconfig", str(sandbox.home.kubeconfig), "--wait"]
    subprocess.run([str(helm), "uninstall", "gpu-operator", *place], check=True, capture_output=True)


def test_what_is_in_the_way_is_found_refused_and_gone_after_its_remedy(cluster: Sandbox) -> None:
    cluster.run("up", "-s", STACK)
    assert preflight(cluster) == (0, []), "a clean cluster"

    live_in(cluster)
    status, found = preflight(cluster)
    assert status == 1
    assert sorted(entry["id"] for entry in found) == sorted(EXPECTED), found
    for entry in found:
        assert entry["seen"]["object"].startswith(EXPECTED[entry["id"]]), entry

    refused = cluster.run("pulumi", "up", *cluster.options, status=1)
    assert "7 differences between the plan and the cluster, nothing was created." in refused
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
