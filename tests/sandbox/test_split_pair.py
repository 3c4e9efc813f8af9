"""A cluster and what lies on it as two stacks, brought up one after the other on the simulated cloud."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from cloud_driver import CloudSandbox
from driver import Sandbox

H200 = "gpu-h200x8-1128gb-fabric-contracted"
# What a kubeconfig of the cluster stack's has, and nobody but its readers may see.
OF_A_KUBECONFIG = "certificate-authority-data"
PODS = "/api/v1/namespaces/training/pods"


class Pair(NamedTuple):
    """Both stacks in one sandbox; the tests of the module go on from one another."""

    cluster: CloudSandbox
    platform: Sandbox

    def platform_says(self, *command: str, status: int = 0) -> str:
        return self.platform.run("pulumi", *command, *self.platform.options, status=status)

    def multus(self) -> list[str]:
        """The DaemonSets of the platform's Multus."""
        found = self.cluster.api.get("/apis/apps/v1/daemonsets")["items"]
        return [entry["metadata"]["name"] for entry in found if "multus" in entry["metadata"]["name"]]


@pytest.fixture(scope="module")
def pair(cloud: Callable[..., CloudSandbox]) -> Pair:
    cluster = cloud("doks-split-cluster")
    return Pair(cluster, cluster.trying("doks-split-platform"))


def nodes(count: int) -> list[dict[str, Any]]:
    return [{"name": "gpu", "shape": H200, "nodes": count}]


def test_a_platform_comes_up_on_no_cluster_and_the_cluster_alone(pair: Pair) -> None:
    said = pair.platform_says("up", status=1)
    assert "unknown stack" in said
    assert "run `up` of that stack first: `pulumi up --stack doks-split-cluster`" in said
    assert not any(pair.cluster.everything.values())
    pair.cluster.up()
    assert pair.cluster.outputs()["cluster"]["pools"][0]["nodes"] == 2
    assert pair.multus() == []


def test_the_platform_comes_up_on_the_other_stacks_cluster_and_takes_pods(pair: Pair) -> None:
    said = pair.platform_says("preview", "--json")
    assert said.count("NetworkAttachmentDefinition::") >= 8
    assert OF_A_KUBECONFIG not in said
    pair.platform_says("up")
    workers = [pair.platform.pod(name) for name in ("worker-0", "worker-1")]
    assert len({pair.cluster.run_pod(pod, PODS) for pod in workers}) == 2


def test_the_platforms_state_has_the_kubeconfig_encrypted_alone(pair: Pair) -> None:
    checkpoint = pair.platform.workspace.checkpoint(pair.platform.stack).read_text()
    (reference,) = (
        entry
        for entry in json.loads(checkpoint)["checkpoint"]["latest"]["resources"]
        if entry["type"] == "pulumi:pulumi:StackReference"
    )
    assert "ciphertext" in reference["outputs"]["outputs"]["kubeconfig"]
    assert OF_A_KUBECONFIG not in checkpoint


def test_the_platform_is_refused_while_the_cluster_is_not_as_its_file_says(pair: Pair) -> None:
    pair.cluster.up(pools=nodes(3))
    said = pair.platform_says("up", status=1)
    assert "pools.gpu.nodes: it has 3, the file says 2" in said
    assert "run `up` of that stack first" in said


def test_destroying_the_platform_and_then_the_cluster_leaves_nothing(pair: Pair) -> None:
    pair.platform_says("destroy")
    assert pair.platform.workspace.state(pair.platform.stack) is None
    assert pair.multus() == []
    pair.cluster.destroy()
    pair.cluster.assert_nothing_is_left()
