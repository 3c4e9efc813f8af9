"""A cluster and what lies on it as two stacks, brought up one after the other on the simulated clouds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cloud_driver import CloudSandbox
from driver import Sandbox, until

from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.sandbox

H200 = "gpu-h200x8-1128gb-fabric-contracted"
# What a kubeconfig of the cluster stack's has, and nobody but its readers may see.
OF_A_KUBECONFIG = "certificate-authority-data"
PODS = "/api/v1/namespaces/training/pods"


class Pair(NamedTuple):
    """Both stacks in one sandbox; the tests of the module go on from one another."""

    cluster: CloudSandbox
    platform: Sandbox

    @classmethod
    @contextmanager
    def tried(cls, home: Path, below: str, above: str, cloud: str) -> Iterator[Pair]:
        """The stacks of a cluster and of its platform on a simulated cloud, of which nothing is left in the end."""
        cluster = CloudSandbox(home, below, cloud)
        try:
            yield cls(cluster, cluster.trying(above))
        finally:
            cluster.clean_up()

    def platform_says(self, *command: str, status: int = 0) -> str:
        return self.platform.run("pulumi", *command, *self.platform.options, status=status)

    def take_a_pod_on_each_node(self) -> None:
        """Pods written from the platform's contract run, each on a node of its own."""
        patch = self.platform.outputs()["fabric"]["podTemplatePatch"]
        patch["spec"]["containers"][0]["image"] = "training"
        for name in ("worker-0", "worker-1"):
            pod = {"apiVersion": "v1", "kind": "Pod", **patch, "metadata": {"name": name, **patch["metadata"]}}
            self.cluster.api.post(PODS, pod)
            until(partial(on_a_node, self, name), f"{name} runs")
        pods = self.cluster.api.get(PODS)["items"]
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 2


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    stacks = ("doks-split-cluster", "doks-split-platform")
    with Pair.tried(tmp_path_factory.mktemp("split"), *stacks, "digitalocean") as pair:
        yield pair


def nodes(count: int) -> list[dict[str, Any]]:
    return [{"name": "gpu", "shape": H200, "nodes": count}]


def on_a_node(pair: Pair, pod: str) -> bool:
    found: Object = pair.cluster.api.get(f"{PODS}/{pod}")
    return bool(found["status"].get("phase") == "Running")


def test_a_platform_comes_up_on_no_cluster(pair: Pair) -> None:
    said = pair.platform_says("up", status=1)
    assert "unknown stack" in said
    assert "run `up` of that stack first: `pulumi up --stack doks-split-cluster`" in said
    assert not any(pair.cluster.everything.values())


def test_the_cluster_comes_up_alone(pair: Pair) -> None:
    pair.cluster.up()
    assert pair.cluster.outputs()["cluster"]["pools"][0]["nodes"] == 2
    found = pair.cluster.api.get("/apis/apps/v1/daemonsets")["items"]
    assert not [entry["metadata"]["name"] for entry in found if "multus" in entry["metadata"]["name"]]


def test_a_preview_of_the_platform_is_whole_and_shows_no_kubeconfig(pair: Pair) -> None:
    said = pair.platform_says("preview", "--json")
    assert said.count("NetworkAttachmentDefinition::") >= 8
    assert OF_A_KUBECONFIG not in said


def test_the_platform_comes_up_on_the_other_stacks_cluster_and_takes_pods(pair: Pair) -> None:
    pair.platform_says("up")
    pair.take_a_pod_on_each_node()


def test_the_platforms_state_has_the_kubeconfig_encrypted_alone(pair: Pair) -> None:
    checkpoint = pair.platform.workspace.checkpoint(pair.platform.stack).read_text()
    (reference,) = (
        entry
        for entry in json.loads(checkpoint)["checkpoint"]["latest"]["resources"]
        if entry["type"] == "pulumi:pulumi:StackReference"
    )
    assert "ciphertext" in reference["outputs"]["outputs"]["kubeconfig"]
    assert OF_A_KUBECONFIG not in checkpoint


def test_a_second_up_of_the_platform_changes_nothing(pair: Pair) -> None:
    said = pair.platform_says("up")
    assert " unchanged" in said
    assert not [word for word in ("created", "updated", "deleted", "replaced") if f" {word}\n" in said]


def test_the_platform_is_refused_while_the_cluster_is_not_as_its_file_says(pair: Pair) -> None:
    pair.cluster.up(pools=nodes(3))
    said = pair.platform_says("up", status=1)
    assert "pools.gpu.nodes: it has 3, the file says 2" in said
    assert "run `up` of that stack first" in said


def test_destroying_the_platform_and_then_the_cluster_leaves_nothing(pair: Pair) -> None:
    pair.platform_says("destroy")
    assert pair.platform.workspace.state(pair.platform.stack) is None
    left = pair.cluster.api.get("/apis/apps/v1/daemonsets")["items"]
    assert not [entry["metadata"]["name"] for entry in left if "multus" in entry["metadata"]["name"]]
    pair.cluster.destroy()
    pair.cluster.assert_nothing_is_left()


def test_a_pair_at_oracle_comes_up_takes_pods_and_goes(tmp_path_factory: pytest.TempPathFactory) -> None:
    stacks = ("oke-split-cluster", "oke-split-platform")
    with Pair.tried(tmp_path_factory.mktemp("split"), *stacks, "oci") as pair:
        pair.cluster.up()
        pair.platform_says("up")
        pair.take_a_pod_on_each_node()
        pair.platform_says("destroy")
        pair.cluster.destroy()
        pair.cluster.assert_nothing_is_left()
