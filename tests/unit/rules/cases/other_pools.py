"""Cases of the group `other_pools`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_DOKS, _OKE = "doks-h200", "oke-h100-26-4"
_OTHER, _POOL = "cluster.otherPools", "cluster.pools[0]"
_CPU = {"name": "cpu", "size": "s-8vcpu-16gb", "nodes": 2}
_L40S = {"name": "inference", "size": "gpu-l40sx1-48gb", "nodes": 2}
_FLEX = {"name": "cpu", "shape": "VM.Standard.E5.Flex", "ocpus": 4, "memoryGib": 32, "nodes": 2}
_A10 = {"name": "inference", "shape": "VM.GPU.A10.1", "nodes": 2}
_RESERVATION = "ocid1.capacityreservation.oc1.iad.example"
_MANAGED = {f"{_POOL}.placement": "compute-cluster", f"{_POOL}.nodes": 4}


def _others(*pools: dict[str, Any]) -> dict[str, Any]:
    return {_OTHER: [{key: value for key, value in pool.items() if value is not None} for pool in pools]}


def _scaled(least: int, most: int) -> dict[str, dict[str, int]]:
    return {"autoScale": {"minNodes": least, "maxNodes": most}}


def _fabric_scaled(least: int, most: int) -> dict[str, Any]:
    return {**_MANAGED, f"{_POOL}.autoScale": {"minNodes": least, "maxNodes": most}}


# Two shapes of one fabric, so that the machine type is no label in common.
_TWO_SHAPES = [
    {"name": "first", "shape": "BM.GPU.A100-v2.8", "nodes": 2, "availabilityDomain": "AD-1"},
    {"name": "second", "shape": "BM.GPU.B4.8", "nodes": 2, "availabilityDomain": "AD-1"},
]
_LABELLED = [{**pool, "labels": {"fabric": "rdma"}} for pool in _TWO_SHAPES]

CASES = (
    good("OTH001", _DOKS, _others(_CPU, _L40S)),
    bad("OTH001", _DOKS, _others({**_CPU, "name": "gpu"}), "[0].name"),
    bad("OTH001", _OKE, _others(_A10, {**_FLEX, "name": "system"}), "[1].name"),
    irrelevant("OTH001", "host-device"),
    good("OTH002", _DOKS, _others(_L40S)),
    bad("OTH002", _DOKS, _others({**_L40S, "size": "gpu-h100x8-640gb-contracted"}), "[0].size"),
    bad("OTH002", _OKE, _others({**_A10, "shape": "BM.GPU.H200.8"}), "[0].shape"),
    irrelevant("OTH002", _DOKS, _others(_CPU)),
    good("OTH003", _OKE, _others(_A10, _FLEX)),
    good("OTH003", _OKE, {"cluster.pools": _TWO_SHAPES, **_others(_FLEX)}),
    bad("OTH003", _OKE, {"cluster.pools": _TWO_SHAPES, **_others(_A10)}, "cluster.pools"),
    bad("OTH003", _OKE, {"cluster.pools": _LABELLED, **_others({**_FLEX, "labels": {"fabric": "rdma"}})}, "[0].labels"),
    irrelevant("OTH003", "host-device"),
    good("OTH004", _DOKS, _others({**_CPU, **_scaled(1, 2)})),
    good("OTH004", _OKE, _fabric_scaled(4, 8)),
    bad("OTH004", _DOKS, _others({**_CPU, **_scaled(3, 4)}), "[0].autoScale"),
    bad("OTH004", _DOKS, _others({**_CPU, "nodes": 0, **_scaled(0, 0)}), "[0].autoScale.maxNodes"),
    bad("OTH004", _OKE, _fabric_scaled(5, 8)),
    irrelevant("OTH004", _DOKS, _others(_CPU)),
    good("OTH005", _OKE, _others(_FLEX, _A10)),
    bad("OTH005", _OKE, _others({**_A10, "shape": "VM.GPU.X99.1"}), "[0].shape"),
    bad("OTH005", _OKE, _others({**_A10, "ocpus": 4, "memoryGib": 32}), "[0].ocpus", "[0].memoryGib"),
    bad("OTH005", _OKE, _others({**_FLEX, "memoryGib": None}), "[0]"),
    bad("OTH005", _OKE, _others({**_FLEX, "ocpus": None}), "[0]"),
    bad("OTH005", _OKE, _others({**_FLEX, "memoryGib": 1024}), "[0].memoryGib"),
    bad("OTH005", _DOKS, _others({**_L40S, "size": "gpu-of-tomorrow"}), "[0].size"),
    irrelevant("OTH005", "host-device"),
    good("OTH006", _OKE, _others({**_FLEX, "preemptible": True})),
    good("OTH006", _OKE, _others({**_A10, "shape": "BM.GPU.A10.4"})),
    bad("OTH006", _OKE, _others({**_A10, "shape": "BM.GPU.A10.4", "preemptible": True}), "[0].preemptible"),
    bad("OTH006", _OKE, _others({**_FLEX, "preemptible": True, "capacityReservationId": _RESERVATION}),
        "[0].capacityReservationId"),
    irrelevant("OTH006", _DOKS, _others(_CPU)),
    good("OTH007", _OKE, {**_fabric_scaled(1, 8), "cluster.addons": [{"name": "ClusterAutoscaler",
        "configurations": {"scaleDownUnneededTime": "20m"}}]}),
    bad("OTH007", _OKE, {**_fabric_scaled(1, 8), "cluster.addons": [{"name": "ClusterAutoscaler",
        "configurations": {"nodes": "1:2:ocid1"}}]}, "[0].configurations.nodes"),
    bad("OTH007", _OKE, {**_fabric_scaled(1, 8), "cluster.enhanced": False}),
    irrelevant("OTH007", _OKE, {"cluster.addons": [{"name": "ClusterAutoscaler"}]}),
    good("OTH008", _DOKS, _others({**_L40S, "size": "gpu-mi300x1-192gb"})),
    good("OTH008", _OKE, _others(_A10)),
    bad("OTH008", _DOKS, {"cluster.plugins.gpu": "operator", **_others({**_L40S, "size": "gpu-mi300x1-192gb"})},
        "cluster.plugins.gpu"),
    bad("OTH008", _OKE, {f"{_POOL}.shape": "BM.GPU.MI300X.8", **_others(_A10)}, "[0].shape"),
    irrelevant("OTH008", _DOKS, _others(_CPU)),
    good("OTH009", _OKE, _fabric_scaled(1, 8)),
    good("OTH009", _OKE, {**_MANAGED, **_others({**_FLEX, **_scaled(0, 4)})}),
    bad("OTH009", _OKE, _fabric_scaled(0, 8), ".minNodes"),
    irrelevant("OTH009", _DOKS),
    good("OTH010", _OKE, {f"{_POOL}.nodeNames": "gpu-[1-4]"}),
    bad("OTH010", _DOKS, {f"{_POOL}.nodeNames": "gpu-[1-2]", f"{_POOL}.contractedNodes": 4,
        f"{_POOL}.autoScale": {"minNodes": 1, "maxNodes": 4}}, f"{_POOL}.nodeNames"),
    irrelevant("OTH010", _OKE, _fabric_scaled(1, 8)),
    good("OTH011", _OKE, _fabric_scaled(1, 8)),
    bad("OTH011", _OKE, {**_fabric_scaled(1, 8), "cluster.identity": {"create": False}}, ".create"),
    irrelevant("OTH011", _OKE, {"cluster.identity": {"create": False}}),
)  # fmt: skip
