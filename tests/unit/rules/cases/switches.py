"""Cases of the group `switches`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_HOST = {"cluster.access.bastion": {"ocpus": 2, "memoryGib": 8}}
_UFM = {"ufmSecret": "ufm", "guidRangeStart": "02:00:00:00:00:00:00:00", "guidRangeEnd": "02:00:00:00:00:00:00:FF"}
_NATIVE = {"cluster.cni": "vcn-native"}

CASES = (
    good("SWI001", "dev", {"verification": {"enabled": True, "image": "registry.example/nccl-tests:1", "nodes": 2}}),
    bad("SWI001", "dev", {"verification": {"nodes": 4, "wait": True}}, "verification.nodes", "verification.wait"),
    bad("SWI001", "doks-h200", {"verification": {"bar": 300}}, "verification.bar"),
    irrelevant("SWI001", "dev", {"verification": {"enabled": False, "bar": 300}}),
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
    good("SWI001", "sriov-operator", {"software.sriovOperator": {"install": True}}),
    bad("SWI001", "dev", {"software.sriovOperator": {"install": False}}, "software.sriovOperator.install"),
    bad(
        "SWI001",
        "ib-sriov-pkey",
        {"software.networkOperator": {"install": False, "policy": "theirs", "partitionKeys": _UFM}},
        *(f"software.networkOperator.partitionKeys.{key}" for key in sorted(_UFM)),
    ),
    good("SWI001", "dev", {"cluster.cleanNodes": True}),
    bad("SWI001", "existing-operators", {"cluster.cleanNodes": True}, "cluster.cleanNodes"),
    good("SWI001", "dev", {"cluster.cniFolders": {}}),
    bad("SWI001", "existing-operators", {"cluster.cniFolders.plugins": "/x"}, "cluster.cniFolders.plugins"),
    irrelevant("SWI001", "doks-h200"),
    # Of the whole file: what the program sets for each fabric is not written.
    irrelevant("SWI001", "two-machines"),
)
