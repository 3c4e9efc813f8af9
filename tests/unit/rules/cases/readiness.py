"""Cases of the group `readiness`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_PROVEN = {"fabric.readiness": {}}
_BY_CONTROLLER = {"fabric.readiness": {"taint": "node-readiness-controller"}}
_PAIR = {"fabric.readiness": {"pair": {}}}
_LOST = {"fabric.readiness": {"lostNics": True}}
_SCALED = {"cluster.pools[0].autoScale": {"minNodes": 0, "maxNodes": 4}}
_TAINTS, _PERCENT = "cluster.pools[0].taints", "fabric.readiness.pair.percent"


def _reaching(percent: int) -> dict[str, object]:
    return {"fabric.readiness": {"pair": {"percent": percent}}}


CASES = (
    good("RDY001", "dev", {**_PROVEN, "cluster.kubernetes": "1.30"}),
    good("RDY001", "dev", _PROVEN),
    bad("RDY001", "dev", {**_PROVEN, "cluster.kubernetes": "1.29.4"}),
    irrelevant("RDY001", "dev", {"cluster.kubernetes": "1.29.4"}),
    good("RDY002", "dev", _PROVEN),
    good("RDY002", "doks-h200", _PROVEN),
    bad("RDY002", "dev", {**_PROVEN, "cluster.pools[0].shape": "server.hgx-h100.8"}, "fabric.readiness"),
    irrelevant("RDY002", "dev"),
    good("RDY003", "dev", {"fabric.readiness": {"startupTaint": False}}),
    good("RDY003", "dev", {"fabric.readiness": {"taint": "none"}}),
    bad("RDY003", "dev", _PROVEN),
    irrelevant("RDY003", "doks-h200", _PROVEN),
    good("RDY004", "doks-h200", {**_PROVEN, **_SCALED}),
    good("RDY004", "doks-h200", _BY_CONTROLLER),
    good("RDY004", "doks-h200", {"fabric.readiness": {"taint": "node-readiness-controller", "startupTaint": False},
        **_SCALED}),
    bad("RDY004", "doks-h200", {**_BY_CONTROLLER, **_SCALED}),
    irrelevant("RDY004", "doks-h200", _SCALED),
    good("RDY005", "dev", _PAIR),
    good("RDY005", "doks-h200", _PAIR),
    bad("RDY005", "host-network", _PAIR, ".pair"),
    bad("RDY005", "dev", {**_PAIR, "cluster.pools[0].shape": "server.hgx-h100.8"}, "fabric.readiness.pair"),
    bad("RDY005", "dev", {**_PAIR, "cluster.ranges": {"pods": "fd00:10::/48", "services": "fd00:20::/112",
        "nodes": "fd00:30::/64"}}, "fabric.readiness.pair"),
    irrelevant("RDY005", "host-network", _PROVEN),
    good("RDY006", "dev", _PAIR),
    bad("RDY006", "dev", {**_PAIR, "cluster.pools[0].nodes": 1}, "fabric.readiness.pair"),
    irrelevant("RDY006", "dev", {"cluster.pools[0].nodes": 1}),
    good("RDY007", "doks-h200", _LOST),
    bad("RDY007", "dev", _LOST, ".lostNics"),
    irrelevant("RDY007", "dev"),
    good("RDY008", "dev", _reaching(98)),
    bad("RDY008", "dev", _reaching(99), _PERCENT),
    good("RDY008", "dev", {**_reaching(92), "fabric.mtu": 1500}),
    bad("RDY008", "dev", {**_reaching(93), "fabric.mtu": 1500}, _PERCENT),
    bad("RDY008", "dev", {**_reaching(91), "fabric.mtu": 1500, "fabric.addressing.supernet": "fd12:3456::/64"},
        _PERCENT),
    good("RDY008", "ib-sriov", _reaching(99)),
    bad("RDY008", "ib-sriov", _reaching(100), _PERCENT),
    irrelevant("RDY008", "dev", _PROVEN),
    good("RDY009", "dev", _reaching(96)),
    bad("RDY009", "dev", _reaching(97), _PERCENT),
    bad("RDY009", "ib-sriov", _reaching(99), _PERCENT),
    irrelevant("RDY009", "dev", _reaching(99)),
    good("RDY010", "dev", {**_PROVEN, _TAINTS: [{"key": "team", "value": "a"}]}),
    *(bad("RDY010", "dev", {**_PROVEN, _TAINTS: [{"key": "team"}, {"key": key}]}, f"{_TAINTS}[1].key")
        for key in ("startup-taint.cluster-autoscaler.kubernetes.io/gpu-fabric-not-ready",
            "readiness.k8s.io/gpu-fabric-not-ready")),
    irrelevant("RDY010", "dev", _PROVEN),
)  # fmt: skip
