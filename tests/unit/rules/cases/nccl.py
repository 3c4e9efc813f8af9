"""Cases of the group `nccl`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

CASES = (
    good("NCL001", "sriov-per-node"),
    bad("NCL001", "sriov-ipv6", {}, "cluster.pools"),
    irrelevant("NCL001", "host-device", {"cluster.pools[0].shape": "BM.GPU.H200.8"}),
)  # fmt: skip
