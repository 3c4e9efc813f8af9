"""Cases of the group `cluster`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_SHAPE = "cluster.pools[0].shape"
_LABELS = "cluster.pools[0].labels"
_NAMES = "cluster.pools[0].nodeNames"
_TYPE = "node.kubernetes.io/instance-type"


def _unnamed(name: str, nodes: int) -> dict[str, Any]:
    return {"name": name, "shape": "BM.GPU.H100.8", "nodes": nodes}


def _named(name: str, nodes: int) -> dict[str, Any]:
    return {**_unnamed(name, nodes), "nodeNames": [f"{name}{number}" for number in range(nodes)]}


CASES = (
    good("CLU004", "doks-h200", {_SHAPE: "gpu-h100x8-640gb-contracted"}),
    bad("CLU004", "host-device", {_SHAPE: "BM.GPU.A10.4"}),
    bad("CLU004", "doks-h200", {_SHAPE: "gpu-h200x8-1128gb"}),
    irrelevant("CLU004", "host-network"),
    good("CLU005", "oke-h100-26-4"),
    bad("CLU005", "doks-h200", {_SHAPE: "BM.GPU.H200.8"}),
    irrelevant("CLU005", "host-device", {_SHAPE: "gpu-h200x8-1128gb-fabric-contracted"}),
    good("CLU013", "dev", {_LABELS: {_TYPE: "BM.GPU.H100.8", "kubernetes.io/os": "linux", "team": "a"}}),
    good("CLU013", "dev", {_LABELS: {"topology.kubernetes.io/zone": "a"}}),
    bad("CLU013", "dev", {_LABELS: {_TYPE: "BM.GPU4.8"}}, ".node.kubernetes.io/instance-type"),
    bad("CLU013", "dev", {_LABELS: {"kubernetes.io/os": "windows"}}, ".kubernetes.io/os"),
    bad("CLU013", "dev", {_LABELS: {"beta.kubernetes.io/arch": "s390x"}}, ".beta.kubernetes.io/arch"),
    bad("CLU013", "dev", {_LABELS: {"kubernetes.io/hostname": "a"}}, ".kubernetes.io/hostname"),
    bad("CLU013", "oke-h100-26-4", {_LABELS: {_TYPE: "BM.GPU.H100.8"}}, ".node.kubernetes.io/instance-type"),
    bad("CLU013", "doks-h200", {_LABELS: {_TYPE: "BM.GPU4.8"}}, ".node.kubernetes.io/instance-type"),
    bad("CLU013", "oke-h100-26-4", {_LABELS: {"my.k8s.io/team": "a"}}, ".my.k8s.io/team"),
    bad("CLU013", "dev", {"cluster.pools[0].labels": {"kubernetes.io/arch": "s390x"}}, ".kubernetes.io/arch"),
    good("CLU013", "oke-h100-26-4", {_LABELS: {"node.kubernetes.io/pool": "a", "example.com/kubernetes.io": "a"}}),
    irrelevant("CLU013", "dev"),
    good("CLU014", "spiderpool-sriov", {"cluster.pools": [_named("a", 2), _named("b", 2)]}),
    bad("CLU014", "spiderpool-sriov-per-node", {"cluster.pools": [_named("a", 2), _unnamed("b", 2)]}, "[1].nodeNames"),
    irrelevant("CLU014", "dev"),
    good("CLU015", "spiderpool-sriov-per-node", {"cluster.pools": [_named("a", 2)]}),
    bad("CLU015", "dev", {_NAMES: ["a", "b", "c"]}),
    irrelevant("CLU015", "dev"),
)  # fmt: skip
