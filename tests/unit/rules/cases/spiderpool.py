"""Cases of the group `spiderpool`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_PER_NODE = {"layout": "per-node", "supernet": "172.16.0.0/16", "prefixLength": 20, "nodePrefixLength": 25}
_TWO_NODES = {"cluster.pools[0].nodeNames": ["gpu-a", "gpu-b"]}

CASES = (
    good("SPI001", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}),
    bad("SPI001", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE}, "cluster.pools[0].nodeNames"),
    irrelevant("SPI001", "spiderpool-macvlan"),
    irrelevant("SPI001", "spiderpool-sriov-per-node"),
    irrelevant("SPI001", "sriov-per-node"),
    good("SPI002", "spiderpool-sriov-per-node"),
    good("SPI002", "spiderpool-sriov-per-node", {
        "fabric.addressing.reservedFirst": 0, "fabric.addressing.reservedLast": 2,
        "fabric.addressing.gateway": "last",
    }),
    bad("SPI002", "spiderpool-sriov-per-node", {"fabric.addressing.reservedFirst": 1},
        "fabric.addressing.reservedFirst"),
    bad("SPI002", "spiderpool-sriov-per-node",
        {"fabric.addressing.reservedFirst": 0, "fabric.addressing.gateway": "none"},
        "fabric.addressing.reservedFirst"),
    bad("SPI002", "spiderpool-sriov-per-node",
        {"fabric.addressing.reservedFirst": 0, "fabric.addressing.exclude": [f"172.17.{rail}.2" for rail in range(8)]},
        "fabric.addressing.reservedFirst"),
    irrelevant("SPI002", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}),
    good("SPI002", "spiderpool-sriov-per-node", {
        "fabric.addressing": {"layout": "per-node", "supernet": "fd00:10::/48", "nodePrefixLength": 64},
    }),
    irrelevant("SPI002", "sriov-per-node"),
    good("SPI003", "spiderpool-ib"),
    bad("SPI003", "spiderpool-ipoib", {}, "fabric.model"),
    irrelevant("SPI003", "ipoib"),
    good("SPI004", "spiderpool-ib", {"cluster.pools[0].taints": []}),
    bad("SPI004", "spiderpool-ib", {}, "cluster.pools"),
    good("SPI004", "spiderpool-ib", {"cluster.pools": [
        {"name": "tainted", "shape": "server.dgx-h100.8", "nodes": 8},
        {"name": "free", "shape": "server.dgx-h100.8", "nodes": 8, "taints": []},
    ]}),
    irrelevant("SPI004", "oke-h100", {"fabric.manager": "spiderpool"}),
    irrelevant("SPI004", "ib-sriov"),
    good("SPI005", "spiderpool-macvlan"),
    bad("SPI005", "spiderpool-ib", {}, "fabric.model"),
    irrelevant("SPI005", "ib-sriov"),
    good("SPI006", "spiderpool-sriov-per-node", {"fabric.rails": [
        {"rail": 0, "network": "gpu-0"}, {"rail": 1, "network": "gpu-01"},
    ]}),
    bad("SPI006", "spiderpool-sriov-per-node",
        {"fabric.rails": [{"rail": 0, "network": "gpu"}, {"rail": 1, "network": "gpu-east"}]},
        "fabric.rails[0].network"),
    bad("SPI006", "spiderpool-sriov-per-node",
        {"fabric.rails": [
            {"rail": 5, "network": "other"}, {"rail": 0, "network": "gpu"}, {"rail": 1, "network": "gpu-east"},
        ]},
        "fabric.rails[1].network"),
    irrelevant("SPI006", "sriov-per-node"),
    good("SPI007", "spiderpool-macvlan", {"software.spiderpool.values": {"spiderpoolController": {"replicas": 2}}}),
    bad("SPI007", "spiderpool-macvlan",
        {"software.spiderpool.values": {"rdma": {"rdmaSharedDevicePlugin": {"install": False}}}},
        "software.spiderpool.values.rdma.rdmaSharedDevicePlugin.install"),
    bad("SPI007", "spiderpool-macvlan",
        {"software.spiderpool.values": {"rdma": {"rdmaSharedDevicePlugin": {"deviceConfig": {"configList": []}}}}},
        "software.spiderpool.values.rdma.rdmaSharedDevicePlugin.deviceConfig"),
    bad("SPI007", "spiderpool-ib", {"software.spiderpool.values": {"sriov": {"install": False}}},
        "software.spiderpool.values.sriov.install"),
    irrelevant("SPI007", "ib-sriov"),
)  # fmt: skip
