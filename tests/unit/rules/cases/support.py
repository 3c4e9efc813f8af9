"""Cases of the group `support`."""

from __future__ import annotations

from program_lists import MODELS

from rules.tables import bad, good, irrelevant

_LAYOUT = "fabric.addressing.layout"
_IPAM = "fabric.addressing.ipam"

CASES = (
    good("SUP001", "ib-sriov", {"fabric.model": "ib-sriov"}),
    bad("SUP001", "doks-h200", {"fabric.model": "sriov"}),
    bad("SUP001", "spiderpool-macvlan", {"fabric.model": "host-device"}),
    *(bad("SUP001", "doks-h200", {"fabric.model": wrong}) for wrong in MODELS if wrong not in ("host-device", "sriov")),
    irrelevant("SUP001", "doks-h200"),
    good("SUP002", "host-device", {"fabric.rdmaMode": "exclusive"}),
    bad("SUP002", "roce-macvlan", {"fabric.rdmaMode": "exclusive"}),
    bad("SUP002", "spiderpool-sriov-per-node", {"fabric.rdmaMode": "shared"}),
    irrelevant("SUP002", "roce-macvlan"),
    good("SUP003", "host-device", {"fabric.linkType": "infiniband"}),
    bad("SUP003", "roce-macvlan", {"fabric.linkType": "infiniband"}),
    bad("SUP003", "roce-macvlan", {"cluster.pools[0].shape": "server.dgx-h100.8"}, "fabric.model"),
    irrelevant("SUP003", "doks-h200", {"fabric.model": "sriov", "fabric.linkType": "infiniband"}),
    good("SUP004", "roce-macvlan", {_LAYOUT: "flat"}),
    bad("SUP004", "roce-macvlan", {_LAYOUT: "none"}),
    bad("SUP004", "spiderpool-ib", {_LAYOUT: "per-node"}),
    bad("SUP004", "ib-sriov", {_LAYOUT: "per-node"}),
    irrelevant("SUP004", "doks-h200", {"fabric.model": "sriov", _LAYOUT: "flat"}),
    good("SUP005", "host-device", {_IPAM: "whereabouts"}),
    bad("SUP005", "host-device", {_IPAM: "spiderpool"}),
    bad("SUP005", "host-network", {_IPAM: "nv-ipam"}),
    irrelevant("SUP005", "host-network"),
    good("SUP006", "oke-h100-26-4", {"fabric.manager": "spiderpool"}),
    bad("SUP006", "oke-h100-26-4", {"fabric.manager": "doks", "fabric.model": "host-device"}, "fabric.manager"),
    bad("SUP006", "host-device", {"fabric.manager": "doks"}),
    good("SUP006", "host-device", {"cluster.shapes": {"rented": {"gpus": {"vendor": "nvidia", "count": 8},
        "nicModel": {"linkType": "ether"}, "nics": [{"interface": "fabric0"}]}}, "cluster.pools[0].shape": "rented",
        "fabric.manager": "doks"}),
    irrelevant("SUP006", "doks-h200"),
    good("SUP008", "host-device", {"software.releaseLine": "26.4"}),
    bad("SUP008", "spiderpool-macvlan", {"software.releaseLine": "23.10"}),
    irrelevant("SUP008", "host-device"),
    good("SUP009", "sriov-per-node"),
    bad("SUP009", "sriov-per-node", {_IPAM: "whereabouts"}, _LAYOUT),
    bad("SUP009", "sriov-per-node", {"software.releaseLine": "23.10"}, _LAYOUT),
    irrelevant("SUP009", "spiderpool-sriov-per-node", {"software.releaseLine": "23.10"}),
)  # fmt: skip
