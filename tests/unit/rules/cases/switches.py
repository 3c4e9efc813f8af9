"""Cases of the group `switches`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_HOST = {"cluster.access.bastion": {"ocpus": 2, "memoryGib": 8}}
_NATIVE = {"cluster.cni": "vcn-native"}

CASES = (
    good("SWI001", "dev", {"verification": {"enabled": True, "image": "registry.example/nccl-tests:1", "nodes": 2}}),
    bad("SWI001", "dev", {"verification": {"nodes": 4, "wait": True}}, "verification.nodes", "verification.wait"),
    bad("SWI001", "doks-h200", {"verification": {"enabled": False, "bar": 300}}, "verification.bar"),
    irrelevant("SWI001", "dev", {"verification": {"enabled": False}}),
    good("SWI001", "oke-h200", {"cluster.access.mode": "bastion-host", **_HOST}),
    bad(
        "SWI001",
        "oke-h200",
        {"cluster.access": {"sessionSeconds": 3600, "allowed": ["192.0.2.0/24"]}, **_HOST},
        "cluster.access.bastion.memoryGib",
        "cluster.access.bastion.ocpus",
        "cluster.access.sessionSeconds",
        "cluster.access.allowed",
    ),
    bad(
        "SWI001",
        "oke-h200",
        {"cluster.access": {"mode": "bastion-host", "sessionSeconds": 3600}},
        "cluster.access.sessionSeconds",
    ),
    bad(
        "SWI001",
        "oke-h200",
        {"cluster.endpoint": {"public": False, "allowed": ["192.0.2.0/24"]}},
        "cluster.endpoint.allowed",
    ),
    good("SWI001", "oke-h200", {**_NATIVE, "cluster.pools[0].maxPods": 31}),
    bad("SWI001", "oke-h200", {"cluster.cni": "flannel", "cluster.pools[0].maxPods": 31}, "cluster.pools[0].maxPods"),
    irrelevant("SWI001", "doks-h200"),
)
