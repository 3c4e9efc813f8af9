"""The login of a registry, by the real engine: in every namespace of the cluster, and in no state or output."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from driver import STACK, Sandbox
from installed_wheel import Installed
from test_components_in_a_program import Program

pytestmark = pytest.mark.sandbox

LOGIN = json.dumps({"auths": {"mirror.example": {"auth": "cGVvcGxlOnNlY3JldC1sb2dpbg=="}}})
PROGRAM = """\
import pulumi
from gpu_fabric.components import GpuFabric, GpuFabricArgs, GpuPoolArgs, RangesArgs

config = pulumi.Config()
GpuFabric("train", GpuFabricArgs(
    kubeconfig=config.require_secret("kubeconfig"),
    pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=3)],
    ranges=RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
    fabric={"model": "sriov", "addressing": {"supernet": "192.168.0.0/16"}},
    software={"charts": "bundled", "imagePullSecrets": [{"name": "mirror", "secret": "mirror-login"}]},
    secrets={"mirror-login": config.require_secret("login")},
))
"""
NAMESPACES = ("default", "gpu-operator", "nvidia-network-operator")


def test_the_login_reaches_every_namespace_and_pods_and_the_state_keeps_it_encrypted(
    cluster: Sandbox, installed: Installed, tmp_path: Path
) -> None:
    cluster.run("up", "-s", STACK)
    program = Program(tmp_path, cluster, installed, text=PROGRAM)
    program.pulumi("config", "set", "--secret", "kubeconfig", given=cluster.home.kubeconfig.read_text())
    program.pulumi("config", "set", "--secret", "login", given=LOGIN)

    printed = program.up()

    for namespace in NAMESPACES:
        found = cluster.api.get(f"/api/v1/namespaces/{namespace}/secrets/mirror")
        assert found["type"] == "kubernetes.io/dockerconfigjson"
        assert base64.b64decode(found["data"][".dockerconfigjson"]).decode() == LOGIN
    policy = cluster.api.get("/apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy")["spec"]
    assert policy["sriovDevicePlugin"]["imagePullSecrets"] == ["mirror"]

    state = (program.workspace.backend / ".pulumi" / "stacks" / "mine" / "mine.json").read_text()
    for form in ("cGVvcGxlOnNlY3JldC1sb2dpbg", base64.b64encode(LOGIN.encode()).decode()):
        assert form not in state
        assert form not in printed
    assert "unchanged" in program.up("--expect-no-changes")

    program.pulumi("destroy", "--yes", "--skip-preview")
    assert [item["metadata"]["name"] for item in cluster.items("/api/v1/namespaces/default/secrets")] == []
