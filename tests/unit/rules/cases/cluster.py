"""Cases of the group `cluster`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_SHAPE = "cluster.pools[0].shape"

CASES = (
    good("CLU004", "doks-h200", {_SHAPE: "gpu-h100x8-640gb-contracted"}),
    bad("CLU004", "host-device", {_SHAPE: "BM.GPU.A10.4"}, _SHAPE),
    bad("CLU004", "doks-h200", {_SHAPE: "gpu-h200x8-1128gb"}, _SHAPE),
    irrelevant("CLU004", "host-network"),
    good("CLU005", "oke-h100-26-4"),
    bad("CLU005", "oke-h100-26-4", {_SHAPE: "gpu-h200x8-1128gb-fabric-contracted"}, _SHAPE),
    bad("CLU005", "doks-h200", {_SHAPE: "BM.GPU.H200.8"}, _SHAPE),
    irrelevant("CLU005", "host-device", {_SHAPE: "gpu-h200x8-1128gb-fabric-contracted"}),
)
