"""A program outside of the repository, with the built wheel: a fabric on each of two clusters, one by a login."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import STACK, Sandbox
from installed_wheel import Installed, built_wheel, install_in_environment
from new_projects import Project, user_environment

from sandbox.home import project_root
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

PROGRAM = """\
import pulumi
import pulumi_kubernetes as k8s
from gpu_fabric.components import GpuFabric, GpuFabricArgs, GpuPoolArgs, RangesArgs, fabric_transform

def owned(args):
    if args.type_ == "kubernetes:core/v1:Namespace":
        metadata = args.props["metadata"]
        labels = {**metadata.get("labels", {}), "owner": "mine"}
        return pulumi.ResourceTransformResult({**args.props, "metadata": {**metadata, "labels": labels}}, args.opts)

config = pulumi.Config()
LOGIN = {"name": "mirror", "secret": "mirror-login"}
for name, supernet in {"train": "192.168.0.0/16", "research": "172.20.0.0/16"}.items():
    kubeconfig = config.require_secret(f"{name}-kubeconfig")
    options = pulumi.ResourceOptions(transforms=[owned], aliases=[pulumi.Alias(name=name)])
    fabric = GpuFabric(config.get(f"{name}-name") or name, GpuFabricArgs(
        kubeconfig=kubeconfig,
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=3)],
        ranges=RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
        fabric={"model": "sriov", "mtu": config.get_int(f"{name}-mtu") or 4220, "addressing": {"supernet": supernet}},
        software={"charts": "bundled", **({"imagePullSecrets": [LOGIN]} if name == "train" else {})},
        secrets={"mirror-login": config.require_secret("login")} if name == "train" else None,
    ), options)
    provider = k8s.Provider(f"{name}-mine", kubeconfig=kubeconfig)
    data = {"networks": pulumi.Output.json_dumps(fabric.networks), "ready": fabric.ready.apply(str)}
    k8s.core.v1.ConfigMap(f"{name}-facts", metadata={"name": "facts", "namespace": "default"}, data=data,
                          opts=pulumi.ResourceOptions(provider=provider))
    container = {"name": "main", "image": "registry.example/train:7", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    k8s.batch.v1.Job(
        f"{name}-job",
        metadata={"name": "job", "namespace": "default", "annotations": {"pulumi.com/skipAwait": "true"}},
        spec={"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        opts=pulumi.ResourceOptions(
            provider=provider, transforms=[fabric_transform(fabric.contract)], depends_on=[fabric]
        ),
    )
    pulumi.export(name, fabric.contract)
"""
LOGIN = json.dumps({"auths": {"mirror.example": {"auth": "cGVvcGxlOnNlY3JldC1sb2dpbg=="}}})
PROJECT = "name: mine\nruntime:\n  name: python\n  options: {toolchain: pip, virtualenv: .venv}\n"
NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
JOB = "/apis/batch/v1/namespaces/default/jobs/job"
FACTS = "/api/v1/namespaces/default/configmaps/facts"


class Program(Project):
    """A project in a folder of its own with an environment of its own, run by the engine of one of the sandboxes."""

    def __init__(self, folder: Path, engine: Sandbox, installed: Installed) -> None:
        self.root = folder / "program"
        self.root.mkdir()
        (self.root / "Pulumi.yaml").write_text(PROJECT)
        (self.root / "__main__.py").write_text(PROGRAM)
        (self.root / ".venv").symlink_to(installed.programs.parent)
        # Bundled charts are found from the program's folder.
        (self.root / "sandbox").symlink_to(project_root() / "sandbox")
        engine.workspace.prepare(ensure(["core"], Progress()))
        self.environment = user_environment(engine.workspace, self.root.parent)
        self.pulumi("stack", "init", "mine")

    def up(self, *options: str) -> str:
        return self.pulumi("up", "--yes", "--skip-preview", *options)

    @property
    def checkpoint(self) -> str:
        """The state as it is stored."""
        return (self.root.parent / ".pulumi" / "stacks" / "mine" / "mine.json").read_text()

    def state(self, time: str = "modified") -> dict[str, str]:
        """When each recorded resource was last changed, or `created`, by its URN."""
        resources = json.loads(self.checkpoint)["checkpoint"]["latest"].get("resources") or []
        return {entry["urn"]: entry[time] for entry in resources}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel of this checkout with its extra `pulumi`, in a virtual environment of its own."""
    return install_in_environment(built_wheel(project_root()), tmp_path_factory.mktemp("installed"), extra="[pulumi]")


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Sandbox]]:
    """Two sandboxes with the nodes of the dev stack, and nothing installed."""
    found = {name: Sandbox(tmp_path_factory.mktemp(name)) for name in ("train", "research")}
    try:
        for sandbox in found.values():
            sandbox.run("up", "-s", STACK)
        yield found
    finally:
        for sandbox in found.values():
            sandbox.run("down")


def test_a_program_has_two_fabrics_on_two_clusters_changes_one_and_destroys_both(
    clusters: dict[str, Sandbox], installed: Installed, tmp_path: Path
) -> None:
    program = Program(tmp_path, clusters["train"], installed)
    for name, sandbox in clusters.items():
        program.pulumi("config", "set", "--secret", f"{name}-kubeconfig", given=sandbox.home.kubeconfig.read_text())
    program.pulumi("config", "set", "--secret", "login", given=LOGIN)

    printed = program.up()

    for name, sandbox in clusters.items():
        contract = program.outputs()[name]
        facts = sandbox.api.get(FACTS)["data"]
        networks = {item["metadata"]["name"] for item in sandbox.items(NETWORKS)}
        assert facts["ready"] == "True"
        assert set(json.loads(facts["networks"])) == {entry["network"] for entry in contract["networks"]} == networks
        (rail, *_) = [key for key in contract["resources"] if key != contract["gpuResource"]]
        assert len(sandbox.allocatable(rail)) == 3

        job = sandbox.api.get(JOB)
        attached = json.loads(job["spec"]["template"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
        assert {entry["name"] for entry in attached} == networks
        # Created last: Pulumi waits for every resource of the fabric.
        networks_created = [item["metadata"]["creationTimestamp"] for item in sandbox.items(NETWORKS)]
        assert job["metadata"]["creationTimestamp"] >= max(networks_created)

        assert sandbox.api.get("/api/v1/namespaces/gpu-operator")["metadata"]["labels"]["owner"] == "mine"

    for namespace in ("default", "gpu-operator", "nvidia-network-operator"):
        secret = clusters["train"].api.get(f"/api/v1/namespaces/{namespace}/secrets/mirror")
        assert base64.b64decode(secret["data"][".dockerconfigjson"]).decode() == LOGIN
    for form in ("cGVvcGxlOnNlY3JldC1sb2dpbg", base64.b64encode(LOGIN.encode()).decode()):
        assert form not in program.checkpoint
        assert form not in printed

    program.up("--expect-no-changes")

    before = program.state()
    program.pulumi("config", "set", "train-mtu", "4200")
    program.up()
    changed = {urn.rpartition("::")[2] for urn, modified in program.state().items() if modified != before[urn]}
    assert any(name.startswith("train-networks-") for name in changed)
    assert [name for name in changed if name.startswith("research")] == []

    before = program.state("created")
    program.pulumi("config", "set", "research-name", "science")
    program.up()
    after = program.state("created")
    assert not any(urn.rpartition("::")[2].startswith("research-networks") for urn in after)
    assert sorted(after.values()) == sorted(before.values())

    program.pulumi("destroy", "--yes", "--skip-preview")

    assert program.state() == {}
    for sandbox in clusters.values():
        assert sandbox.items(NETWORKS) == []
