"""What a preview says that it would take away: by the engine's own events, as its CLI records them."""

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
NODES = "pool gpu, 2 nodes of gpu-h200x8-1128gb-fabric-contracted with 16 GPUs"
NETWORK = {"name": "-", "displayName": "gpu", "instancePools": [{"size": 4}]}
MANAGED = {"name": "gpu", "nodeShape": "BM.GPU.H200.8", "nodeConfigDetails": {"size": 3}}
MACHINE = {"name": "-", "displayName": "a", "shape": "BM.GPU.H100.8"}
REPLACED = ("delete-replaced", "replace", "create-replacement")


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        (
            [event(op, POOL, H200, ["size"]) for op in REPLACED],
            [f"{NODES}: replaced, since size cannot change in place"],
        ),
        ([event("replace", POOL, H200)], [f"{NODES}: replaced with its parent resource"]),
        ([event("delete", POOL, {**H200, "size": "s-4vcpu-8gb"})], ["pool gpu, 2 nodes of s-4vcpu-8gb: deleted"]),
        # A cluster comes before its pools.
        (
            [event("delete", POOL, H200), event("replace", CLUSTER, {"name": "train"}, ["region"])],
            [
                "cluster train, all of its nodes and everything that runs there: replaced, since region cannot change "
                "in place",
                f"{NODES}: deleted",
            ],
        ),
        # Oracle's machines are told where their construct keeps them.
        (
            [
                event("replace", "oci:Core/clusterNetwork:ClusterNetwork", NETWORK, ["placementConfiguration"]),
                event("delete", "oci:ContainerEngine/nodePool:NodePool", MANAGED),
                event("delete", "oci:Core/instance:Instance", MACHINE),
            ],
            [
                "pool gpu, 3 nodes of BM.GPU.H200.8 with 24 GPUs: deleted",
                "cluster network gpu, 4 nodes: replaced, since placementConfiguration cannot change in place",
                "machine a, BM.GPU.H100.8 with 8 GPUs: deleted",
            ],
        ),
        # What stays is no loss.
        ([*(event(op, POOL, H200) for op in ("create", "update", "same", "refresh")), '{"summaryEvent": {}}'], []),
    ],
)
def test_what_a_preview_takes_away_is_told_with_its_nodes_its_gpus_and_why(steps: list[str], lost: list[str]) -> None:
    found = losses(steps)
    assert [str(loss) for loss in found] == lost
    assert [line.strip() for line in told(found).splitlines()[1:]] == lost


def test_the_cli_is_asked_to_record_previews_alone_and_the_record_goes_away() -> None:
    said: list[str] = []
    with told_afterwards("up", said.append) as options:
        assert options == []
    with told_afterwards("preview", said.append):
        pass
    assert said == []
    with told_afterwards("preview", said.append) as options:
        record = Path(options[1])
        record.write_text(event("delete", POOL, H200) + "\n")
    assert not record.parent.exists()
    assert len(said) == 1
