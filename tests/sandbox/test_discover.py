"""`gpu-fabric discover` on a cluster: the real API server and kubectl, simulated nodes, a look at one of each group.

What the look reads on a node is played: sandbox/hardware/looks.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from driver import Sandbox, until

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import document_of, read_file, validated
from sandbox.home import project_root
from sandbox.nodes import desired_nodes, reconcile_nodes, wait_nodes_ready

pytestmark = pytest.mark.sandbox

NAMESPACES = "/api/v1/namespaces"
JOBS = "/apis/batch/v1/jobs"


@pytest.fixture(scope="module")
def lab(cluster: Sandbox) -> Sandbox:
    """A cluster with three H100 nodes, on which nothing was ever installed."""
    cluster.run("up", "-s", "dev")
    return cluster


def discover(sandbox: Sandbox, *arguments: str, status: int = 0) -> str:
    """What the command prints of the sandbox's cluster, by its kubectl."""
    done = subprocess.run(
        [sys.executable, "-m", "gpu_fabric", "discover", "--kubeconfig", str(sandbox.home.kubeconfig), *arguments],
        cwd=project_root(),
        env={**os.environ, "KUBECTL": str(sandbox.home.bin / "kubectl")},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def plan_of(text: str, folder: Path) -> Plan:
    file = folder / "Pulumi.found.yaml"
    file.write_text(text, encoding="utf-8")
    return prepare(read_file(file), for_up=False)


def stack(kubeconfig: Path, shape: str, fabric: str, pool: str = "") -> str:
    """What a person would write for three nodes of this cluster."""
    return f"""\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: {kubeconfig}
    pools: [{{name: gpu, shape: {shape}, nodes: 3{pool}}}]
    ranges: {{services: 10.96.0.0/16}}
  gpu-fabric:fabric:
    {fabric}
    addressing: {{supernet: 172.16.0.0/16}}
"""


def left_behind(sandbox: Sandbox) -> list[str]:
    jobs = [item["metadata"]["name"] for item in sandbox.items(JOBS)]
    return jobs + [item["metadata"]["name"] for item in sandbox.items(NAMESPACES) if "look" in item["metadata"]["name"]]


def test_a_look_has_what_the_shape_has_and_leaves_nothing(lab: Sandbox, tmp_path: Path) -> None:
    out = tmp_path / "Pulumi.lab.yaml"

    said = discover(lab, "--look", "--out", str(out))

    assert "gpu-0: Job gpu-fabric-look in namespace gpu-fabric-look looks at it" in said
    found = plan_of(out.read_text(encoding="utf-8"), tmp_path)
    assert found == plan_of(stack(lab.home.kubeconfig, "BM.GPU.H100.8", "model: sriov"), tmp_path)
    until(lambda: not left_behind(lab), "the look's namespace is gone")


def test_two_groups_of_nodes_are_looked_at_one_after_the_other(lab: Sandbox, tmp_path: Path) -> None:
    nodes = [*named(lab, "BM.GPU.H100.8", "train"), *named(lab, "server.dgx-a100.8", "old")]
    reconcile_nodes(lab.api, nodes)
    assert wait_nodes_ready(lab.api) == []

    discover(lab, "--look", "--group", "all", "--out", str(tmp_path / "Pulumi.lab.yaml"))

    label = "node.kubernetes.io/instance-type"
    by_hand = f"""\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: {lab.home.kubeconfig}
    pools:
      - {{name: gpu-1, shape: server.dgx-a100.8, nodes: 3, labels: {{{label}: server.dgx-a100.8}}}}
      - {{name: gpu-2, shape: BM.GPU.H100.8, nodes: 3, labels: {{{label}: BM.GPU.H100.8}}}}
    ranges: {{services: 10.96.0.0/16}}
  gpu-fabric:fabric:
    model: host-device
    addressing: {{supernet: 172.16.0.0/16}}
  gpu-fabric:fabrics:
    gpu-2:
      pools: [gpu-2]
      model: sriov
      addressing: {{supernet: 172.24.0.0/16}}
"""
    text = (tmp_path / "Pulumi.lab.yaml").read_text(encoding="utf-8")
    assert plan_of(text, tmp_path) == plan_of(by_hand, tmp_path)
    until(lambda: not left_behind(lab), "the look's namespace is gone")


def named(sandbox: Sandbox, shape: str, pool: str) -> list[dict[str, Any]]:
    """The GPU nodes of a stack with such a pool."""
    text = stack(sandbox.home.kubeconfig, shape, "").replace("name: gpu,", f"name: {pool},")
    found = desired_nodes(validated(document_of(text, "two", project_root(), "Pulumi.two.yaml")))
    return [node for node in found if node["metadata"]["name"].startswith(f"{pool}-")]


def test_what_the_sriov_operator_saw_is_enough_for_the_shapes_plan(
    trying: Callable[[str], Sandbox], tmp_path: Path
) -> None:
    sandbox = trying("sriov-operator")
    sandbox.up()

    text = discover(sandbox, "--supernet", "172.16.0.0/16", "--out", str(tmp_path / "found.yaml"))
    written = (tmp_path / "found.yaml").read_text(encoding="utf-8")

    assert "NicClusterPolicy nic-cluster-policy" in text.replace("\n", " ")
    assert "by its label" not in written
    config = yaml.safe_load(written)["config"]
    assert config["gpu-fabric:cluster"]["pools"] == [{"name": "gpu", "shape": "server.dgx-h100.8", "nodes": 4}]
    assert config["gpu-fabric:fabric"] == {
        "model": "sriov",
        "linkType": "ether",
        "vfsPerNic": 8,
        "addressing": {"supernet": "172.16.0.0/16"},
    }
    assert len(plan_of(written, tmp_path).rails) == 8
