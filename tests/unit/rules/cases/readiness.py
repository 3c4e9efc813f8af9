"""Cases of the group `readiness`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_PROVEN = {"fabric.readiness": {}}
_BY_CONTROLLER = {"fabric.readiness": {"taint": "node-readiness-controller"}}
_SCALED = {"cluster.pools[0].autoScale": {"minNodes": 0, "maxNodes": 4}}

CASES = (
    good("RDY001", "dev", {**_PROVEN, "cluster.kubernetes": "1.30"}),
    good("RDY001", "dev", _PROVEN),
    bad("RDY001", "dev", {**_PROVEN, "cluster.kubernetes": "1.29.4"}, "cluster.kubernetes"),
    irrelevant("RDY001", "dev", {"cluster.kubernetes": "1.29.4"}),
    good("RDY002", "dev", _PROVEN),
    good("RDY002", "doks-h200", _PROVEN),
    bad("RDY002", "dev", {**_PROVEN, "cluster.pools[0].shape": "server.hgx-h100.8"}, "fabric.readiness"),
    irrelevant("RDY002", "dev"),
    good("RDY003", "dev", {"fabric.readiness": {"startupTaint": False}}),
    good("RDY003", "dev", {"fabric.readiness": {"taint": "none"}}),
    bad("RDY003", "dev", _PROVEN, "fabric.readiness"),
    irrelevant("RDY003", "doks-h200", _PROVEN),
    good("RDY004", "doks-h200", {**_PROVEN, **_SCALED}),
    good("RDY004", "doks-h200", _BY_CONTROLLER),
    good(
        "RDY004",
        "doks-h200",
        {
            "fabric.readiness": {"taint": "node-readiness-controller", "startupTaint": False},
            **_SCALED,
        },
    ),
    bad("RDY004", "doks-h200", {**_BY_CONTROLLER, **_SCALED}, "cluster.pools[0].autoScale"),
    irrelevant("RDY004", "doks-h200", _SCALED),
)
