"""A program outside of the repository, with the built wheel, that creates its clusters itself at a simulated cloud."""

from __future__ import annotations

from pathlib import Path

import pytest
from cloud_driver import NODES, CloudSandbox
from installed_wheel import Installed
from test_components_in_a_program import NETWORKS, Program

from sandbox.cloud.account import account_token
from sandbox.cloud.oci.credentials import credentials
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

AT_DIGITALOCEAN = """\
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
AT_ORACLE = """\
import pulumi
from gpu_fabric.components import (
    AddressingArgs, FabricArgs, GpuCluster, GpuClusterArgs, OkeClusterArgs, OkePoolArgs, RangesArgs, SoftwareArgs
)

config = pulumi.Config()
cluster = GpuCluster("train", GpuClusterArgs(
    oke=OkeClusterArgs(
        region="us-ashburn-1",
        compartment_id="ocid1.compartment.oc1..aaaaaaaaexample",
        version="1.27.2",
        settings={key: config.require_secret(key) for key in ("tenancyOcid", "userOcid", "fingerprint", "privateKey")},
        pools=[OkePoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2, availability_domain="AD-1")],
        ranges=RangesArgs(pods="10.240.0.0/12", services="10.96.0.0/16", nodes="10.140.0.0/16"),
    ),
    fabric=FabricArgs(addressing=AddressingArgs(supernet="192.168.0.0/16", gateway="first")),
    software=SoftwareArgs(release_line="23.10", charts="bundled"),
))
for name in ("cluster_id", "kubeconfig", "contract", "networks", "ready"):
    pulumi.export(name, getattr(cluster, name))
"""
# What would lead a program to an account by itself.
ACCOUNTS = ("DIGITALOCEAN_", "TF_VAR_")


def program_of(text: str, folder: Path, sandbox: CloudSandbox, installed: Installed) -> Program:
    """A program on a simulated cloud, without an account in its environment."""
    sandbox.workspace.prepare(ensure(["core"], Progress()))
    program = Program(folder, sandbox, installed, text=text)
    program.environment = {name: value for name, value in program.environment.items() if not name.startswith(ACCOUNTS)}
    return program


def assert_it_is_up_with_a_fabric_and_nothing_is_left_to_change(program: Program, sandbox: CloudSandbox) -> None:
    outputs = program.outputs()
    networks = {item["metadata"]["name"] for item in sandbox.api.get(NETWORKS)["items"]}
    nodes = [node["status"]["allocatable"] for node in sandbox.api.get(NODES)["items"]]
    assert outputs["ready"] is True
    assert outputs["kubeconfig"] == "[secret]"
    assert set(outputs["networks"]) == networks
    assert sandbox.planes.ids() == [outputs["cluster_id"]]
    assert sum(node.get("nvidia.com/gpu") == "8" for node in nodes) == outputs["contract"]["nodes"] == 2

    program.up("--expect-no-changes")


def test_a_program_creates_renames_and_destroys_a_cluster_with_a_fabric_at_digitalocean(
    installed: Installed, tmp_path: Path
) -> None:
    sandbox = CloudSandbox(tmp_path / "home", "mine")
    try:
        program = program_of(AT_DIGITALOCEAN, tmp_path, sandbox, installed)
        program.pulumi("config", "set", "--secret", "token", given=account_token(sandbox.home))
        # The token is not known yet, and so neither is the version that the cluster gets.
        preview = program.pulumi("preview")
        assert "train-pool-gpu" in preview
        assert "warning" not in preview
        program.up()

        assert_it_is_up_with_a_fabric_and_nothing_is_left_to_change(program, sandbox)

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


def test_a_program_creates_a_cluster_with_a_fabric_at_oracle_and_destroys_it(
    installed: Installed, tmp_path: Path
) -> None:
    sandbox = CloudSandbox(tmp_path / "home", "mine", "oci")
    try:
        program = program_of(AT_ORACLE, tmp_path, sandbox, installed)
        account = credentials(sandbox.home)
        settings = {
            "tenancyOcid": account.tenancy,
            "userOcid": account.user,
            "fingerprint": account.fingerprint,
            "privateKey": account.key_file.read_text(),
        }
        for key, value in settings.items():
            program.pulumi("config", "set", "--secret", key, given=value)
        program.up()

        assert_it_is_up_with_a_fabric_and_nothing_is_left_to_change(program, sandbox)
        program.pulumi("destroy", "--yes", "--skip-preview")

        assert program.state() == {}
        assert not any(sandbox.everything.values())
    finally:
        sandbox.clean_up()
