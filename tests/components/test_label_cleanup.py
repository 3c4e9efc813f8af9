"""What operators leave on nodes is deleted at the end, and nothing that a node had before them."""

from __future__ import annotations

from typing import Any

import pytest

from components.cluster_api import RequestError
from components.operators import label_cleanup
from components.operators.label_cleanup import LabelCleanupError, LabelCleanupProvider

pytestmark = pytest.mark.components

Json = dict[str, Any]
PROPS = {"kubeconfig": "k", "cluster": "c", "prefixes": ["nvidia.com/gpu", "feature.node.kubernetes.io/"]}


class Cluster:
    """A cluster's nodes; `refusal` is what it answers to every request."""

    def __init__(self, nodes: dict[str, Json], refusal: RequestError | None = None) -> None:
        self.nodes = nodes
        self.patched: list[str] = []
        self._refusal = refusal

    def request(self, method: str, path: str, body: Json | None = None, _headers: Any = None) -> Json:
        if self._refusal is not None:
            raise self._refusal
        if method == "GET":
            return {"items": [{"metadata": {"name": name, **parts}} for name, parts in self.nodes.items()]}
        name = path.rpartition("/")[2]
        self.patched.append(name)
        assert body is not None
        for part, keys in body["metadata"].items():
            for key in keys:
                del self.nodes[name][part][key]
        return {}


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def on(cluster: Cluster) -> LabelCleanupProvider:
        monkeypatch.setattr(label_cleanup, "ClusterApi", lambda *_: cluster)
        return LabelCleanupProvider()

    return on


def test_keys_that_came_after_the_stack_are_deleted_and_all_others_stay(use: Any) -> None:
    cluster = Cluster({"gpu-0": {"labels": {"zone": "a", "feature.node.kubernetes.io/own": "x"}}, "cpu-0": {}})
    provider = use(cluster)
    made = provider.create(PROPS)
    cluster.nodes["gpu-0"]["labels"] |= {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu-operator.resource-allocation.mode": "dra",
        "feature.node.kubernetes.io/pci-15b3.present": "true",
        "nvidia.com/other": "theirs",
    }
    cluster.nodes["gpu-0"]["annotations"] = {"nvidia.com/gpu-driver-upgrade-enabled": "true", "note": "mine"}
    provider.delete(made.id, made.outs)

    assert cluster.nodes["gpu-0"] == {
        "labels": {"zone": "a", "feature.node.kubernetes.io/own": "x", "nvidia.com/other": "theirs"},
        "annotations": {"note": "mine"},
    }
    assert cluster.patched == ["gpu-0"]


def test_an_update_keeps_what_was_noted_at_the_creation(use: Any) -> None:
    provider = use(Cluster({"gpu-0": {"labels": {"nvidia.com/gpu.mine": "x"}}}))
    made = provider.create(PROPS)
    new = {**PROPS, "prefixes": ["nvidia.com/gpu", "nvidia.com/mig"]}
    assert provider.diff(made.id, made.outs, new).changes
    assert provider.update(made.id, made.outs, new).outs["kept"] == ["nvidia.com/gpu.mine"]


def test_only_another_cluster_replaces_it() -> None:
    provider = LabelCleanupProvider()
    assert provider.diff("id", PROPS, {**PROPS, "cluster": "another"}).replaces == ["cluster"]
    assert provider.diff("id", PROPS, {**PROPS, "kubeconfig": "renewed"}).changes is None


def test_a_refusal_ends_the_run_with_its_reason(use: Any) -> None:
    provider = use(Cluster({}, RequestError(403, "nodes is forbidden")))
    with pytest.raises(LabelCleanupError, match="could not be read: nodes is forbidden"):
        provider.create(PROPS)
    with pytest.raises(LabelCleanupError, match="could not be deleted: nodes is forbidden"):
        provider.delete("id", {**PROPS, "kept": []})


def test_a_cluster_that_is_gone_counts_as_clean_where_the_user_says_so(
    use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    monkeypatch.setattr(label_cleanup, "_PATIENCE", 0.0)
    use(Cluster({}, RequestError(0, "no answer"))).delete("id", {**PROPS, "kept": []})
