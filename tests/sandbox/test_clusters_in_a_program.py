"""A program outside of the repository, with the built wheel, that creates its clusters itself at a simulated cloud."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloud_driver import NODES, CloudSandbox
from installed_wheel import Installed
from test_components_in_a_program import NETWORKS, Program

from sandbox.cloud.account import account_token
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

PROGRAM = """\
import pulumi
from gpu_fabric.components import DoksClusterArgs, DoksPoolArgs, GpuCluster, GpuClusterArgs, RangesArgs
from pulumi import dynamic

class Vault(dynamic.ResourceProvider):
    def create(self, props):
        return dynamic.CreateResult("token", {"token": props["given"]})

class Token(dynamic.Resource):
    token: pulumi.Output[str]

config = pulumi.Config()
account = Token(Vault(), "account", {"given": config.require_secret("token"), "token": None},
                pulumi.ResourceOptions(additional_secret_outputs=["token"]))
options = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="train")])
cluster = GpuCluster(config.get("name") or "train", GpuClusterArgs(doks=DoksClusterArgs(
    name="train",
    token=account.token,
    region="nyc2",
    version="1.36",
    pools=[DoksPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=2)],
    ranges=RangesArgs(pods="10.156.0.0/16", services="10.157.0.0/19", nodes="10.158.0.0/20"),
)), options)
for name in ("cluster_id", "kubeconfig", "contract", "networks", "ready"):
    pulumi.export(name, getattr(cluster, name))
"""
# What would lead a program to an account by itself.
ACCOUNTS = ("DIGITALOCEAN_", "TF_VAR_")


def test_a_program_creates_renames_and_destroys_a_cluster_with_a_fabric_at_digitalocean(
    installed: Installed, tmp_path: Path
) -> None:
    sandbox = CloudSandbox(tmp_path / "home", "mine")
    try:
        sandbox.workspace.prepare(ensure(["core"], Progress()))
        program = Program(tmp_path, sandbox, installed, PROGRAM)
        found = program.environment.items()
        program.environment = {name: value for name, value in found if not name.startswith(ACCOUNTS)}
        program.pulumi("config", "set", "--secret", "token", given=account_token(sandbox.home))
        # The token is not known yet, and so neither is the version that the cluster gets.
        preview = program.pulumi("preview")
        assert "train-pool-gpu" in preview
        assert "warning" not in preview
        program.up()

        outputs = program.outputs()
        networks = {item["metadata"]["name"] for item in sandbox.api.get(NETWORKS)["items"]}
        nodes = [node["status"]["allocatable"] for node in sandbox.api.get(NODES)["items"]]
        assert outputs["ready"] is True
        assert outputs["kubeconfig"] == "[secret]"
        assert set(outputs["networks"]) == networks
        assert sandbox.planes.ids() == [outputs["cluster_id"]]
        assert sum(node.get("nvidia.com/gpu") == "8" for node in nodes) == outputs["contract"]["nodes"] == 2
        program.up("--expect-no-changes")

        before = program.state("created")
        program.pulumi("config", "set", "name", "science")
        program.up()
        after = program.state("created")
        assert not any(urn.rpartition("::")[2].startswith("train") for urn in after)
        assert sorted(after.values()) == sorted(before.values())

        program.pulumi("destroy", "--yes", "--skip-preview")

        assert program.state() == {}
        assert not any(sandbox.everything.values())
    finally:
        sandbox.clean_up()
