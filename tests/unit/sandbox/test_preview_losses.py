"""What a preview says that it would take away: by the engine's own events, as its CLI records them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine.event_log import losses, told, told_afterwards

POOL = "digitalocean:index/kubernetesNodePool:KubernetesNodePool"
CLUSTER = "digitalocean:index/kubernetesCluster:KubernetesCluster"


def event(op: str, kind: str, inputs: dict[str, Any], keys: list[str] | None = None) -> str:
    step = {"op": op, "urn": f"urn::{kind}::{inputs['name']}", "type": kind, "keys": keys, "old": {"inputs": inputs}}
    return json.dumps({"resourcePreEvent": {"metadata": step, "planning": True}})


H200 = {"name": "gpu", "size": "gpu-h200x8-1128gb-fabric-contracted", "nodeCount": 2}


def test_a_pool_that_is_made_anew_is_told_with_its_nodes_its_gpus_and_why() -> None:
    steps = [event(op, POOL, H200, ["size"]) for op in ("delete-replaced", "replace", "create-replacement")]

    assert [str(loss) for loss in losses(steps)] == [
        "pool gpu, 2 nodes of gpu-h200x8-1128gb-fabric-contracted with 16 GPUs: replaced, since size cannot change in "
        "place"
    ]


def test_a_cluster_comes_before_its_pools_and_a_deleted_pool_gives_no_reason() -> None:
    cluster = event("replace", CLUSTER, {"name": "train"}, ["region"])
    lost = told(losses([event("delete", POOL, H200), cluster])).splitlines()

    assert lost[1].strip().startswith("cluster train, all of its nodes and everything that runs there: replaced")
    assert lost[2].endswith("16 GPUs: deleted")


def test_what_is_made_anew_with_its_cluster_alone_says_so() -> None:
    (loss,) = losses([event("replace", POOL, H200)])

    assert str(loss).endswith("16 GPUs: replaced with its parent resource")


def test_oracles_machines_are_told_where_their_construct_keeps_them() -> None:
    network = {"name": "-", "displayName": "gpu", "instancePools": [{"size": 4}]}
    managed = {"name": "gpu", "nodeShape": "BM.GPU.H200.8", "nodeConfigDetails": {"size": 3}}
    steps = [
        event("replace", "oci:Core/clusterNetwork:ClusterNetwork", network, ["placementConfiguration"]),
        event("delete", "oci:ContainerEngine/nodePool:NodePool", managed),
        event("delete", "oci:Core/instance:Instance", {"name": "-", "displayName": "a", "shape": "BM.GPU.H100.8"}),
    ]

    assert [str(loss) for loss in losses(steps)] == [
        "pool gpu, 3 nodes of BM.GPU.H200.8 with 24 GPUs: deleted",
        "cluster network gpu, 4 nodes: replaced, since placementConfiguration cannot change in place",
        "machine a, BM.GPU.H100.8 with 8 GPUs: deleted",
    ]


@pytest.mark.parametrize("op", ["create", "update", "same", "refresh"])
def test_what_stays_is_no_loss(op: str) -> None:
    assert losses([event(op, POOL, H200), json.dumps({"summaryEvent": {}})]) == []


def test_a_size_of_no_list_is_told_without_a_number_of_gpus() -> None:
    (loss,) = losses([event("delete", POOL, {**H200, "size": "s-4vcpu-8gb"})])

    assert str(loss) == "pool gpu, 2 nodes of s-4vcpu-8gb: deleted"


def test_the_cli_is_asked_to_record_previews_alone_and_the_record_goes_away() -> None:
    said: list[str] = []
    with told_afterwards("up", said.append) as options:
        assert options == []
    with told_afterwards("preview", said.append) as options:
        record = Path(options[1])
        record.write_text(event("delete", POOL, H200) + "\n")

    assert not record.parent.exists()
    assert len(said) == 1


def test_a_preview_that_records_nothing_says_nothing() -> None:
    said: list[str] = []
    with told_afterwards("preview", said.append):
        pass

    assert said == []
