"""`gpu-fabric discover` on a cluster: the real API server and kubectl, simulated nodes, a look at one of each group.

What the look reads on a node is played: sandbox/hardware/looks.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml
from driver import Sandbox, until

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from sandbox.home import project_root

NAMESPACES = "/api/v1/namespaces"
JOBS = "/apis/batch/v1/jobs"
# What a person would write for three nodes of this cluster.
BY_HAND = """\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: {kubeconfig}
    pools: [{{name: gpu, shape: BM.GPU.H100.8, nodes: 3}}]
    ranges: {{services: 10.96.0.0/16}}
  gpu-fabric:fabric:
    model: sriov
    addressing: {{supernet: 172.16.0.0/16}}
"""


def discover(sandbox: Sandbox, *arguments: str, status: int = 0) -> str:
    """What the command prints of the sandbox's cluster, by its kubectl."""
    done = subprocess.run(
        [sys.executable, "-m", "gpu_fabric", "discover", "--kubeconfig", str(sandbox.home.kubeconfig), *arguments],
        cwd=project_root(),
        env={**os.environ, "KUBECTL": str(sandbox.home.bin / "kubectl")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def plan_of(text: str, folder: Path) -> Plan:
    file = folder / "Pulumi.found.yaml"
    file.write_text(text, encoding="utf-8")
    return prepare(read_file(file), for_up=False).plan


def left_behind(sandbox: Sandbox) -> list[str]:
    jobs = [item["metadata"]["name"] for item in sandbox.items(JOBS)]
    return jobs + [item["metadata"]["name"] for item in sandbox.items(NAMESPACES) if "look" in item["metadata"]["name"]]


def test_a_look_has_what_the_shape_has_and_leaves_nothing(cluster: Sandbox, tmp_path: Path) -> None:
    cluster.run("up", "-s", "dev")
    out = tmp_path / "Pulumi.lab.yaml"

    said = discover(cluster, "--look", "--out", str(out))

    assert "gpu-0: Job gpu-fabric-look in namespace gpu-fabric-look looks at it" in said
    assert plan_of(out.read_text(encoding="utf-8"), tmp_path) == plan_of(
        BY_HAND.format(kubeconfig=cluster.home.kubeconfig), tmp_path
    )
    until(lambda: not left_behind(cluster), "the look's namespace is gone")


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
