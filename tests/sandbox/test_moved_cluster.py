"""A kubeconfig of two clusters whose context is switched: refused, moved on purpose, and then destroyed clean.

The stack is brought up by the Pulumi CLI itself, as by somebody who uses no `make`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from driver import STACK, guard
from plugin_crashes import has_crashed

from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud.clusters import ControlPlanes
from sandbox.engine.workspace import Workspace
from sandbox.home import SandboxHome, project_root
from sandbox.kubernetes_api import Api
from sandbox.simulated_nodes import desired_nodes
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.slow

PROD, STAGING = "prod", "staging"
NAME = "moved"
OURS = {"gpu-operator", "nvidia-network-operator"}


class TwoClusters:
    """Two clusters with nodes for the dev stack, a kubeconfig that has both, and the CLI on a stack of that file."""

    def __init__(self, folder: Path) -> None:
        self.home = SandboxHome(folder / "home")
        self.planes = ControlPlanes(self.home)
        self.workspace = Workspace(self.home)
        self.kubeconfig = folder / "kubeconfig"
        self.file = folder / f"Pulumi.{NAME}.yaml"

    def start(self) -> None:
        self.workspace.prepare(ensure(["core"], Progress()))
        document = read_document(STACK, project_root())
        spec = validate(document)[0]
        assert spec is not None
        self.nodes = desired_nodes(spec)
        for cluster in (PROD, STAGING):
            self.prepare(cluster)
        self.write()
        self.pulumi("stack", "init", "--stack", NAME, cwd=self.workspace.stacks)

    def prepare(self, cluster: str) -> None:
        """Start a cluster, with the stack's nodes."""
        self.planes.create(cluster)
        self.planes.set_nodes(cluster, self.nodes)

    def write(self, cluster: dict[str, Any] | None = None, acknowledge: tuple[str, ...] = ()) -> None:
        """Write the stack file: the dev stack's sections on this kubeconfig, which names no context."""
        sections = dict(read_document(STACK, project_root()).sections)
        sections["cluster"] = {**sections["cluster"], "kubeconfig": str(self.kubeconfig), **(cluster or {})}
        sections |= guard(acknowledge)
        salt = yaml.safe_load(self.file.read_text()).get("encryptionsalt") if self.file.exists() else None
        written = {"config": {f"gpu-fabric:{name}": section for name, section in sections.items()}}
        self.file.write_text(yaml.safe_dump({**written, **({"encryptionsalt": salt} if salt else {})}))

    def switch(self, current: str, *names: str) -> None:
        """What `kubectl config use-context` does, in a file of both clusters or of those that are named."""
        merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": current}
        for name in names or (PROD, STAGING):
            found = yaml.safe_load(self.planes.kubeconfig(name).read_text())
            for key, inner in (("clusters", "cluster"), ("users", "user")):
                merged.setdefault(key, []).append({"name": name, inner: found[key][0][inner]})
            merged.setdefault("contexts", []).append({"name": name, "context": {"cluster": name, "user": name}})
        self.kubeconfig.write_text(yaml.safe_dump(merged))

    def run(self, verb: str, *options: str, status: int = 0, environment: dict[str, str] | None = None) -> str:
        arguments = (verb, "--stack", NAME, "--config-file", str(self.file), *options)
        return self.pulumi(*arguments, status=status, environment=environment)

    def up(self, status: int = 0) -> str:
        return self.run("up", "--yes", "--skip-preview", "--suppress-outputs", status=status)

    def pulumi(
        self,
        *arguments: str,
        status: int = 0,
        cwd: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> str:
        """What the CLI prints; run once more, as `make` does, where the Kubernetes plug-in crashed."""
        for _ in range(2):
            result = subprocess.run(
                [self.workspace.command, *arguments, "--non-interactive"],
                cwd=cwd or project_root(),
                env={**self.workspace.environment(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if not has_crashed(result.stdout):
                break
        assert (result.returncode == 0) == (status == 0), result.stdout
        return result.stdout

    def namespaces(self, cluster: str) -> set[str]:
        """The stack's own namespaces that a cluster has."""
        found = Api(self.planes.kubeconfig(cluster)).get("/api/v1/namespaces")["items"]
        return {item["metadata"]["name"] for item in found} & OURS

    @property
    def left(self) -> list[str]:
        """What the engine has on record beside the stack itself."""
        state = self.workspace.state(NAME)
        assert state is not None
        return [entry["urn"] for entry in state.resources if entry["type"] != "pulumi:pulumi:Stack"]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoClusters]:
    """The stack brought up on one of the two; the tests of the module go on from one another."""
    found = TwoClusters(tmp_path_factory.mktemp("moved"))
    try:
        found.start()
        found.switch(PROD)
        said = found.up()
        assert f"cluster: context {PROD}, server https://127.0.0.1:" in said
        assert "CLU011" in said
        yield found
    finally:
        for cluster in found.planes.ids():
            found.planes.delete(cluster)


def test_a_switched_context_is_refused_with_the_way_back_and_nothing_is_changed(clusters: TwoClusters) -> None:
    clusters.switch(STAGING)
    said = clusters.up(status=1)
    assert "cluster-kubernetes: would change while it is in use" in said
    assert "the kubeconfig leads to another cluster than in the last run" in said
    assert f"write `context: {PROD}` under `gpu-fabric:cluster`" in said
    assert "unhandled error" not in said
    assert (clusters.namespaces(PROD), clusters.namespaces(STAGING)) == (OURS, set())
    said = clusters.run("preview", status=1)
    assert "replace" in said
    assert "leads to another cluster" in said


def test_the_named_context_is_the_last_runs_cluster_whatever_the_current_one_is(clusters: TwoClusters) -> None:
    clusters.switch(STAGING)
    clusters.write({"context": PROD})
    said = clusters.run("preview")
    assert "replace" not in said
    assert "CLU011" not in said
    clusters.write()


def test_a_move_on_purpose_leaves_nothing_behind_and_is_destroyed_clean(clusters: TwoClusters) -> None:
    clusters.switch(STAGING)
    clusters.write(acknowledge=("cluster-kubernetes",))
    clusters.up()
    assert (clusters.namespaces(PROD), clusters.namespaces(STAGING)) == (set(), OURS)
    clusters.run("destroy", "--yes", "--skip-preview")
    assert clusters.left == []
    assert clusters.namespaces(STAGING) == set()


def test_a_stack_whose_cluster_is_lost_forgets_it_and_is_destroyed_clean(clusters: TwoClusters) -> None:
    clusters.write({"cleanNodes": True})
    clusters.switch(PROD)
    clusters.up()
    clusters.planes.delete(PROD)
    gone = {"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
    assert "unreachable" in clusters.run("destroy", "--yes", "--skip-preview", status=1)
    # A release is not removed by that variable alone.
    assert "Helm Release" in clusters.run("destroy", "--yes", "--skip-preview", status=1, environment=gone)
    clusters.run("refresh", "--yes", "--skip-preview", environment=gone)
    assert {urn.rpartition("::")[2] for urn in clusters.left} >= {"node-labels-cleanup"}
    clusters.run("destroy", "--yes", "--skip-preview", environment=gone)
    assert clusters.left == []
    clusters.write()


def test_a_stack_whose_cluster_is_lost_comes_up_on_another_once_that_is_acknowledged(clusters: TwoClusters) -> None:
    clusters.switch(STAGING, STAGING)
    clusters.up()
    clusters.planes.delete(STAGING)
    clusters.prepare(PROD)
    clusters.switch(PROD, PROD)
    assert "leads to another cluster" in clusters.up(status=1)
    clusters.run("refresh", "--yes", "--skip-preview", environment={"PULUMI_K8S_DELETE_UNREACHABLE": "true"})
    clusters.write(acknowledge=("cluster-kubernetes",))
    clusters.up()
    assert clusters.namespaces(PROD) == OURS
    clusters.run("destroy", "--yes", "--skip-preview")
    assert (clusters.left, clusters.namespaces(PROD)) == ([], set())
