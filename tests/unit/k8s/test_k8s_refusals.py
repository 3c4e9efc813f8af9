"""Each promise of `refused.yaml` and each row below: what a cluster would fail on is refused before."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.nv_ipam import IPPool, IPPoolSpec

PROMISES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())
IMAGE = {"image": "operand", "repository": "nvcr.io/nvidia/mellanox", "version": "26.04-1.1.0.0"}
RAIL = '{"resourceList":[{"resourceName":"%s","selectors":{"vendors":["15b3"]}}]}'
GROUPED = {"sriovDevicePlugin": {**IMAGE, "config": RAIL % "rail_00"}, "nodeSelector": {"pool": "a"}}


def levels(*labels: str) -> dict[str, Any]:
    return {"levels": [{"nodeLabel": label} for label in labels]}


def quotas(*names: str) -> dict[str, Any]:
    flavor = {"name": "gpus", "resources": [{"name": name, "nominalQuota": "1"} for name in names]}
    return {"resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [flavor]}]}


def deployment(**labels: str) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "a", "tier": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": "a", "namespace": "b"}, "spec": spec}


def network(config: str) -> dict[str, Any]:
    return {"metadata": {"name": "rail", "namespace": "default"}, "spec": {"config": config}}


def chain(*plugins: dict[str, Any]) -> dict[str, Any]:
    return {"name": "rail-00", "plugins": plugins}


REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("nv_ipam.IPPoolSpec", {"subnet": "10.0.0.0/24", "perNodeBlocksize": 4}, r"did you mean perNodeBlockSize\?"),
    ("core.Namespace", {"metadata": {"name": "gpu", "namespace": "default"}}, "gpu is cluster-scoped: leave metadata"),
    ("core.ConfigMap", {"metadata": {"name": "nccl"}, "data": {}}, "ConfigMap nccl is namespaced: set metadata"),
    *(
        ("base.ObjectMeta", {"name": name}, "is not an object name: allowed are")
        for name in ("Rail", "rail_00", "-rail", "rail-", "r" * 254, "")
    ),
    ("base.ObjectMeta", {"name": "a", "labels": {"shape": "BM/GPU"}}, "allowed are at most 63 letters"),
    ("mellanox.NicClusterPolicy", {"metadata": {"name": "mine"}, "spec": {}}, "the only allowed name is nic-cluster"),
    ("mellanox.NicNodePolicy", {"metadata": {"name": "p" * 31}, "spec": GROUPED}, "31 characters: allowed are at most"),
    ("mellanox.SriovDevicePlugin", {**IMAGE, "config": RAIL % "rail-00"}, "'rail-00': allowed are letters, digits"),
    ("mellanox.RdmaSharedDevicePlugin", {**IMAGE, "config": '{"configList":[]}'}, r"configList[\s\S]*at least 1 item"),
    ("mellanox.OfedDriver", {**IMAGE, "version": "latest"}, r"ofedDriver version 'latest': allowed are YY\.MM"),
    ("scheduling.Toleration", {"key": "a", "operator": "Exists", "value": "b"}, "operator Exists takes no value"),
    ("scheduling.NodeSelectorRequirement", {"key": "shape", "operator": "In"}, "operator In needs values"),
    ("scheduling.NodeSelectorRequirement", {"key": "a", "operator": "Gt", "values": ["8", "9"]}, "one whole number"),
    ("scheduling.LabelRequirement", {"key": "team", "operator": "NotIn"}, "operator NotIn needs values"),
    *(("cni.NetworkAttachmentDefinition", network(text), "config") for text in ("{", "[]", '{"name":"rail"}')),
    ("cni.CniChain", chain({"type": "tuning", "mtu": 4200}, {"type": "sriov"}), "tuning cannot come first"),
    ("cni.CniChain", chain({"type": "macvlan", "master": "a"}, {"type": "sriov"}), "sriov must come first and alone"),
    ("kueue.TopologySpec", levels("a", "a"), "a label is for one level only"),
    ("kueue.TopologySpec", levels("kubernetes.io/hostname", "a"), "is the lowest level"),
    ("kueue.TopologySpec", levels(), "at least 1 item"),
    ("kueue.TopologySpec", levels(*(f"level-{number}" for number in range(17))), "at most 16 items"),
    ("kueue.ResourceFlavorSpec", {"topologyName": "rdma"}, "needs nodeLabels"),
    *(
        ("kueue.ClusterQueueSpec", quotas(*names), "a quota of each covered resource")
        for names in (("cpu",), ("memory", "cpu"), ("cpu", "memory", "pods"))
    ),
    *(
        ("apps.Deployment", deployment(**labels), r"selector\.matchLabels")
        for labels in ({}, {"app": "other"}, {"app": "a", "name": "c"})
    ),
)
ROWS = [
    pytest.param(promise["model"], {**promise.get("base", {}), **changes}, pattern, id=f"{name} [{number}]")
    for name, promise in PROMISES.items()
    for number, (changes, pattern) in enumerate(promise["refused"])
]


def read(model: str, written: dict[str, Any]) -> BaseModel:
    """An object of the model of that name, as YAML has it."""
    module, _, name = model.partition(".")
    kind: type[BaseModel] = getattr(import_module(f"gpu_fabric.k8s.{module}"), name)
    return kind.model_validate(written)


@pytest.mark.parametrize(("model", "written", "pattern"), [*ROWS, *REFUSED])
def test_what_would_fail_in_a_cluster_is_refused_before(model: str, written: dict[str, Any], pattern: str) -> None:
    with pytest.raises(ValidationError, match=pattern):
        read(model, written)


@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if "base" in promise])
def test_what_the_rows_of_a_promise_have_in_common_is_taken(name: str) -> None:
    assert read(PROMISES[name]["model"], PROMISES[name]["base"])


def test_what_is_right_beside_these_rows_is_taken() -> None:
    assert read("mellanox.NicNodePolicy", {"metadata": {"name": "p" * 30}, "spec": GROUPED})

    assert read("kueue.TopologySpec", levels("a", "kubernetes.io/hostname"))
    assert read("apps.Deployment", deployment(app="a"))
    assert read("cni.CniChain", chain({"type": "sriov"}, {"type": "tuning", "mtu": 4200}))


def test_a_manifest_has_camel_case_names_and_the_usual_key_order() -> None:
    pool = IPPool(
        metadata=ObjectMeta(name="rail-00", namespace="nvidia-network-operator", labels={"b": "2", "a": "1"}),
        spec=IPPoolSpec(subnet="10.200.0.0/24", per_node_block_size=4, gateway="10.200.0.1"),
    )
    assert json.dumps(pool.manifest()) == (
        '{"apiVersion": "nv-ipam.nvidia.com/v1alpha1", "kind": "IPPool", '
        '"metadata": {"name": "rail-00", "namespace": "nvidia-network-operator", "labels": {"a": "1", "b": "2"}}, '
        '"spec": {"subnet": "10.200.0.0/24", "perNodeBlockSize": 4, "gateway": "10.200.0.1"}}'
    )
