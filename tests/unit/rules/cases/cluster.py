"""Cases of the group `cluster`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_SHAPE = "cluster.pools[0].shape"
_H100 = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 4}
_H200 = {"name": "more", "shape": "BM.GPU.H200.8", "nodes": 2}

CASES = (
    good("CLU002", "host-device", {"cluster.pools": [_H100, {**_H100, "name": "more"}]}),
    bad(
        "CLU002",
        "host-device",
        {"cluster.pools": [_H100, _H200, {**_H200, "name": "rest"}]},
        *(f"cluster.pools[{place}].shape" for place in (1, 2)),
    ),
    irrelevant("CLU002", "host-device"),
    good("CLU004", "doks-h200", {_SHAPE: "gpu-h100x8-640gb-contracted"}),
    bad("CLU004", "host-device", {_SHAPE: "BM.GPU.A10.4"}, _SHAPE),
    bad("CLU004", "doks-h200", {_SHAPE: "gpu-h200x8-1128gb"}, _SHAPE),
    irrelevant("CLU004", "host-network"),
    good("CLU005", "oke-h100"),
    bad("CLU005", "oke-h100", {_SHAPE: "gpu-h200x8-1128gb-fabric-contracted"}, _SHAPE),
    bad("CLU005", "doks-h200", {_SHAPE: "BM.GPU.H200.8"}, _SHAPE),
    irrelevant("CLU005", "host-device", {_SHAPE: "gpu-h200x8-1128gb-fabric-contracted"}),
)
