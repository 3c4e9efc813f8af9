"""Cases of the group `dpdk`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_DPDK = {"fabric.dpdk": {"hugePages": "4Gi", "cpus": 8, "memory": "16Gi"}}
_PAGES = "fabric.dpdk.hugePages"

CASES = (
    good("DPK001", "host-device", _DPDK),
    bad("DPK001", "roce-macvlan", _DPDK),
    bad("DPK001", "host-device", {**_DPDK, "fabric.linkType": "infiniband"}, "fabric.dpdk"),
    irrelevant("DPK001", "roce-macvlan"),
    good("DPK002", "sriov-dpdk", {_PAGES: "514Mi"}),
    bad("DPK002", "sriov-dpdk", {_PAGES: "1Mi"}),
    irrelevant("DPK002", "host-device"),
    good("DPK003", "host-device"),
    bad("DPK003", "sriov-dpdk", {}, "fabric.dpdk"),
    irrelevant("DPK003", "roce-macvlan", _DPDK),
)  # fmt: skip
