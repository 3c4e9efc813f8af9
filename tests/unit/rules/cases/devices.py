"""Cases of the group `devices`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

H100 = "sriov-per-node"
_EIGHT_NICS = [{"rail": rail, "pci": f"0000:{rail + 16:02x}:00.0"} for rail in range(8)]
_BOARD: dict[str, Any] = {"cluster.pools[0].shape": "server.hgx-h100.8", "fabric.vfsPerNic": 1}

_ON_ETHERNET = {
    "fabric.model": "host-device", "fabric.linkType": "ether", "fabric.vfsPerNic": 0, "fabric.virtualFunctions": None
}  # fmt: skip


def _rail(**facts: Any) -> dict[str, Any]:
    return {"fabric.rails": [facts]}


def _with_rails(count: int) -> dict[str, Any]:
    nics = [{"interface": f"ib{rail}", "nearestGpu": 0} for rail in range(count)]
    hardware = {"gpus": {"vendor": "nvidia", "count": 8}, "nicModel": {"linkType": "infiniband"}, "nics": nics}
    return {"cluster.shapes": {"wide": hardware}, "cluster.pools[0].shape": "wide"}


CASES = (
    good("DEV001", H100),
    bad("DEV001", "oke-h100-26-4", {"fabric.addressing.layout": "flat"}),
    irrelevant("DEV001", "host-network"),
    good("DEV002", H100, {**_BOARD, "fabric.rails": _EIGHT_NICS}),
    bad("DEV002", H100, _BOARD, "fabric.rails"),
    bad("DEV002", "roce-macvlan", {"cluster.pools[0].shape": "server.hgx-h100.8", "fabric.rails": _EIGHT_NICS}),
    bad("DEV002", "node-kinds", {"cluster.shapes.new-machine.nics": [{"rdmaDevice": "a"}, {"rdmaDevice": "b"}]},
        "fabric.rails"),
    irrelevant("DEV002", "host-network", {"cluster.pools[0].shape": "server.hgx-h100.8"}),
    irrelevant("DEV002", "host-device", {
        "cluster.shapes": {"rented": {**_with_rails(8)["cluster.shapes"]["wide"], "nics": [{"nearestGpu": 0}] * 8}},
        "cluster.pools[0].shape": "rented", "fabric.manager": "doks",
    }),
    good("DEV003", "ib-sriov"),
    bad("DEV003", "ib-sriov", {"fabric.vfsPerNic": 0}),
    bad("DEV003", "sriov-operator", {"fabric.vfsPerNic": None}),
    irrelevant("DEV003", H100, {"cluster.pools[0].shape": "BM.GPU.A10.4"}),
    good("DEV004", H100, _rail(rail=15, network="last")),
    bad("DEV004", H100, _rail(rail=16, network="beyond"), "[0].rail"),
    irrelevant("DEV004", H100),
    good("DEV005", "ib-sriov", {"fabric.rails": [
        {"rail": 0, "rdmaDevice": "mlx5_3"}, {"rail": 1, "rdmaDevice": "mlx5_0"},
    ]}),
    bad("DEV005", "ib-sriov", _rail(rail=0, pci="0000:40:00.0"), "[0].pci"),
    bad("DEV005", H100, _rail(rail=3, pci="0000:1f:00.0", rdmaDevice="mlx5_11"), "[0].pci", "[0].rdmaDevice"),
    bad("DEV005", "oke-h100-26-4", {"cluster.pools[0].shape": "BM.GPU4.8", **_rail(rail=0, pci="0000:0f:00.0")},
        "[0].pci"),
    bad("DEV005", "ib-sriov", {"fabric.rails": [{"rail": 0, "interface": "ib0"}, {"rail": 4, "interface": "ib0"}]},
        "[1].interface"),
    bad("DEV005", "doks-h200", _rail(rail=0, interface="eth1"), "[0].interface"),
    irrelevant("DEV005", "ib-sriov"),
    good("DEV006", "ib-sriov", _rail(rail=0, nearestGpu=7)),
    bad("DEV006", "ib-sriov", _rail(rail=0, nearestGpu=8), "[0].nearestGpu"),
    irrelevant("DEV006", "ib-sriov", _rail(rail=0, network="first")),
    good("DEV007", "ib-sriov", {"fabric.rails": [
        {"rail": 0, "resource": "rail_01"}, {"rail": 1, "resource": "rail_00"},
    ]}),
    bad("DEV007", "ib-sriov", _rail(rail=0, resource="rail_01"), "[0].resource"),
    bad("DEV007", "ib-sriov", {"fabric.rails": [{"rail": 0, "network": "left-most"},
        {"rail": 1, "resource": "left_most"}]}, "[1].resource"),
    irrelevant("DEV007", "ib-sriov", {"fabric.rails": [{"rail": 0, "network": "a"}, {"rail": 1, "network": "a"}]}),
    irrelevant("DEV007", "oke-h100-26-4", {
        "fabric.addressing.layout": "flat",
        "fabric.rails": [{"rail": 0, "resource": "a"}, {"rail": 1, "resource": "b"}],
    }),
    irrelevant("DEV007", "spiderpool-ipoib", _rail(rail=0, network="first")),
    good("DEV008", "ib-sriov", _rail(rail=0, resource="Rail_0")),
    good("DEV008", "ib-sriov", _rail(rail=0, resource="r" * 63)),
    bad("DEV008", "ib-sriov", _rail(rail=0, resource="rail-0"), "[0].resource"),
    bad("DEV008", "ib-sriov", _rail(rail=0, resource="rail_0_"), "[0].resource"),
    bad("DEV008", "ib-sriov", _rail(rail=0, resource="r" * 64), "[0].resource"),
    bad("DEV008", "ib-sriov", {"fabric.rails": [{"rail": 0, "resource": "nvidia.com/rail0"}]}, "[0].resource"),
    bad("DEV008", "ib-sriov", {"fabric.rails": [{"rail": 0, "resource": "_rail"}]}, "[0].resource"),
    bad("DEV008", "ib-sriov", {"fabric.rails": [{"rail": 0, "resource": "rail 0"}]}, "[0].resource"),
    irrelevant("DEV008", "ib-sriov", _rail(rail=0, network="rail-0")),
    good("DEV009", "ib-sriov", {"fabric.vfsPerNic": 16}),
    bad("DEV009", "ib-sriov", {"fabric.vfsPerNic": 17}),
    irrelevant("DEV009", "ib-sriov", {"fabric.model": "host-device", "fabric.vfsPerNic": 17}),
    irrelevant("DEV009", "spiderpool-sriov-per-node"),
    good("DEV010", "ib-sriov", {"fabric.vfsPerNic": 127}),
    bad("DEV010", "ib-sriov", {"fabric.vfsPerNic": 128}),
    bad("DEV010", "spiderpool-macvlan", {"cluster.shapes.guide-cx5.vfsPerNic": 128}),
    bad("DEV010", "spiderpool-macvlan", {"fabric.vfsPerNic": 128}),
    irrelevant("DEV010", "host-network"),
    good("DEV011", "roce-macvlan"),
    bad("DEV011", H100, {"fabric.podsPerNic": 4}),
    irrelevant("DEV011", "ib-sriov"),
    good("DEV012", "ib-sriov"),
    bad("DEV012", "roce-macvlan", {"fabric.vfsPerNic": 4}),
    bad("DEV012", "doks-h200", {"fabric.vfsPerNic": 0}),
    irrelevant("DEV012", "host-network"),
    good("DEV013", "host-device"),
    bad("DEV013", "host-device", {"fabric.vfsPerNic": 8}),
    irrelevant("DEV013", "doks-h200", {"fabric.vfsPerNic": 4}),
    good("DEV014", "ib-sriov"),
    bad("DEV014", H100, {**_BOARD, "fabric.rails": _EIGHT_NICS}),
    bad("DEV014", "node-kinds", {}, "fabric.rails"),
    irrelevant("DEV014", "oke-h100-26-4", {"cluster.pools[0].shape": "BM.GPU.A10.4"}),
    good("DEV015", "ib-sriov", _rail(rail=0, network="first", resource="first")),
    good("DEV015", "oke-h100-26-4", {"fabric.addressing.layout": "flat", **_rail(rail=0, network="rdma")}),
    bad("DEV015", "oke-h100-26-4", {"fabric.addressing.layout": "flat",
        **_rail(rail=1, network="rdma", resource="rdma")}, "[0].resource", "[0].network"),
    bad("DEV015", "host-network", _rail(rail=0, network="first"), "[0].network"),
    bad("DEV015", "doks-h200", _rail(rail=0, resource="first"), "[0].resource"),
    bad("DEV015", "spiderpool-ipoib", _rail(rail=0, resource="first"), "[0].resource"),
    irrelevant("DEV015", "ib-sriov", _rail(rail=0, nearestGpu=1)),
    good("DEV016", "ipoib", _with_rails(32)),
    bad("DEV016", "ipoib", _with_rails(33)),
    irrelevant("DEV016", "oke-h100-26-4", {"cluster.pools[0].shape": "BM.GPU.A10.4"}),
    good("DEV017", "roce-macvlan", {"fabric.podsPerNic": 110}),
    bad("DEV017", "roce-macvlan", {"fabric.podsPerNic": 1000}),
    irrelevant("DEV017", "dev"),
    good("DEV018", "ib-sriov", _rail(rail=0, interface="ibp24s0")),
    bad("DEV018", "ib-sriov", {**_rail(rail=0, interface="ibp24s0"), **_ON_ETHERNET}, "fabric.rails[0].interface"),
    bad("DEV018", "ib-sriov", {"fabric.rails": [{"rail": 1, "interface": "enp64s0np0"},
        {"rail": 0, "interface": "ens1np0"}]}, "[1].interface", "[0].interface"),
    bad("DEV018", "node-kinds", {"cluster.shapes.new-machine.nics": [{"interface": "ens3np0"}, {"interface": "ibs3"}]},
        "[1].interface"),
    irrelevant("DEV018", "ib-sriov", {**_rail(rail=0, interface="compute0"), **_ON_ETHERNET}),
    good("DEV019", "doks-h200", _rail(rail=0, interface="fabric0")),
    bad("DEV019", "doks-h200", _rail(rail=1, interface="Fabric_1"), "fabric.rails[0].interface"),
    irrelevant("DEV019", "ib-sriov", _rail(rail=0, interface="Fabric_1")),
)  # fmt: skip
