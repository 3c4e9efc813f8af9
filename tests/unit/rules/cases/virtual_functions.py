"""Cases of the group `virtual_functions`."""

from __future__ import annotations

from rules.alterations import with_two_node_policies_for_one_nic
from rules.tables import bad, broken, good, irrelevant

_MAKER = "fabric.virtualFunctions"
_DAEMON_SET = {_MAKER: "daemon-set"}
_OPERATOR = {_MAKER: "sriov-operator"}
_SHARED = {"fabric.rdmaMode": "shared"}
_BROADCOM = {
    f"cluster.shapes.{make}-machine.nicModel": {
        "vendorId": "14e4",
        "deviceId": "1760",
        "driver": "bnxt_en",
        "linkType": "ether",
    }
    for make in ("old", "new")
}
_ALL_PCI = {"fabric.rails": [{"rail": rail, "pci": f"0000:{rail + 16:02x}:00.0"} for rail in range(8)]}
_PCI = [{"rail": rail, "pci": f"0000:{rail + 16:02x}:00.0"} for rail in range(2)]

CASES = (
    good("VFN001", "sriov-per-node", {_MAKER: "node-image"}),
    good("VFN001", "ib-sriov", _OPERATOR),
    bad("VFN001", "host-device", {_MAKER: "node-image"}),
    bad("VFN001", "roce-macvlan", _DAEMON_SET),
    good("VFN001", "spiderpool-ib", _OPERATOR),
    bad("VFN001", "spiderpool-macvlan", _OPERATOR),
    bad("VFN001", "host-network", _OPERATOR),
    irrelevant("VFN001", "doks-h200", {"fabric.model": "sriov", **_DAEMON_SET}),
    good("VFN002", "sriov-operator"),
    bad("VFN002", "guide-23-10", _OPERATOR),
    bad("VFN002", "guide-23-10", {_MAKER: "externally-managed"}),
    irrelevant("VFN002", "host-device", {"software.releaseLine": "23.10"}),
    irrelevant("VFN002", "spiderpool-ib", {"software.releaseLine": "23.10"}),
    good("VFN003", "node-kinds", _DAEMON_SET),
    good("VFN003", "sriov-operator", {**_DAEMON_SET, "fabric.rails": _PCI}),
    bad("VFN003", "sriov-operator", _DAEMON_SET, "fabric.rails"),
    bad("VFN003", "node-kinds", {**_DAEMON_SET, "cluster.shapes.new-machine.nics": [{"interface": "ens1"},
        {"interface": "ens2"}]}, "fabric.rails"),
    irrelevant("VFN003", "sriov-operator"),
    good("VFN004", "externally-managed", {"fabric.vfsPerNic": 1}),
    good("VFN004", "sriov-operator", {_MAKER: "externally-managed"}),
    bad("VFN004", "externally-managed", {"fabric.vfsPerNic": 2}),
    irrelevant("VFN004", "externally-managed", {_MAKER: "sriov-operator", "fabric.vfsPerNic": 2}),
    good("VFN005", "node-kinds", _OPERATOR | _SHARED | _BROADCOM),
    bad("VFN005", "node-kinds", _OPERATOR | _BROADCOM, _MAKER),
    bad("VFN005", "node-kinds", _OPERATOR | _SHARED, _MAKER),
    bad("VFN005", "spiderpool-ib", {}, _MAKER),
    irrelevant("VFN005", "externally-managed"),
    irrelevant("VFN005", "guide-23-10"),
    good("VFN006", "externally-managed"),
    bad("VFN006", "sriov-dpdk", {}, _MAKER),
    bad("VFN006", "sriov-operator", {}, _MAKER),
    bad("VFN006", "spiderpool-ib", {}, _MAKER),
    irrelevant("VFN006", "sriov-per-node"),
    good("VFN007", "guide-23-10", _SHARED),
    bad("VFN007", "guide-23-10", {}, "fabric.rdmaMode"),
    irrelevant("VFN007", "sriov-operator"),
    good("VFN008", "guide-23-10", {"software.hostImage": "mirror.example.com/busybox:1"}),
    bad("VFN008", "sriov-operator", {"software.hostImage": "mirror.example.com/busybox:1"}),
    bad("VFN008", "roce-macvlan", {"software.hostImage": "mirror.example.com/busybox:1"}),
    good("VFN008", "roce-macvlan", {
        "software.hostImage": "mirror.example.com/busybox:1", "fabric.hostPreparation": {"disableAcs": True},
    }),
    bad("VFN008", "roce-macvlan", {"software.hostImage": "mirror.example.com/busybox:1",
        "fabric.hostPreparation": {"dryRun": True}}, "software.hostImage"),
    irrelevant("VFN008", "sriov-operator"),
    good("VFN011", "ib-sriov-pkey", _DAEMON_SET | _ALL_PCI),
    bad("VFN011", "ib-sriov", _DAEMON_SET | _ALL_PCI, _MAKER),
    irrelevant("VFN011", "ib-sriov", _OPERATOR),
    good("VFN009", "node-kinds", _OPERATOR),
    good("VFN009", "node-kinds", {
        **_OPERATOR, "cluster.shapes.new-machine.nics": [{"pci": "0000:18:00.0"}, {"pci": "0000:3a:00.0"}],
    }),
    broken("VFN009", "sriov-operator", with_two_node_policies_for_one_nic, "fabric.rails"),
    irrelevant("VFN009", "guide-23-10"),
    good("VFN012", "spiderpool-ib", {_MAKER: "externally-managed"}),
    bad("VFN012", "spiderpool-ib", {_MAKER: "node-image"}),
    bad("VFN012", "spiderpool-sriov-per-node", _DAEMON_SET),
    irrelevant("VFN012", "spiderpool-macvlan", _DAEMON_SET),
    irrelevant("VFN012", "sriov-per-node", {_MAKER: "node-image"}),
    good("VFN013", "spiderpool-ib", {"fabric.rails": [{"rail": 0, "resource": "Left"}, {"rail": 1, "resource": "b"}]}),
    bad("VFN013", "spiderpool-ib", {"fabric.rails": [{"rail": 0, "resource": "Left"}, {"rail": 1, "resource": "left"}]},
        "[1].resource"),
    bad("VFN013", "sriov-operator", {"fabric.rails": [{"rail": 0, "resource": "Rail_01"}]}, "[0].resource"),
    irrelevant("VFN013", "spiderpool-ib",
               {"fabric.rails": [{"rail": 0, "resource": "left"}, {"rail": 1, "resource": "left"}]}),
    irrelevant("VFN013", "ib-sriov",
               {"fabric.rails": [{"rail": 0, "resource": "Left"}, {"rail": 1, "resource": "left"}]}),
)  # fmt: skip
