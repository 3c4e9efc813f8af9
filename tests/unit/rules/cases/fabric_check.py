"""Cases of the group `fabric_check`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_CHECKED = {"fabric.check": {}}

CASES = (
    good("CHK001", "spiderpool-ib", _CHECKED),
    bad("CHK001", "host-network", _CHECKED),
    irrelevant("CHK001", "host-network"),
    good("CHK002", "spiderpool-ib", _CHECKED),
    good("CHK002", "spiderpool-macvlan", _CHECKED),
    good("CHK002", "spiderpool-ipoib", _CHECKED),
    bad("CHK002", "spiderpool-ib", {**_CHECKED, "fabric.vfsPerNic": 1}, "fabric.check"),
    bad("CHK002", "spiderpool-macvlan", {**_CHECKED, "fabric.podsPerNic": 1}, "fabric.check"),
    bad("CHK002", "host-device", _CHECKED),
    bad("CHK002", "doks-h200", _CHECKED),
    bad("CHK002", "host-device", {"fabric.check": {"image": "mirror.example.com/rdma-tools:1"}}),
    irrelevant("CHK002", "host-network", _CHECKED),
)  # fmt: skip
