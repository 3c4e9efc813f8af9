"""Cases of the group `host_preparation`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_AT = "fabric.hostPreparation"
_ADDRESSING = "fabric.addressing"
_POOL = "cluster.pools[0]"
_NODES: dict[str, Any] = {f"{_POOL}.nodes": 2, f"{_POOL}.nodeNames": ["gpu-a", "gpu-b"]}
_EXCLUSIVE: dict[str, Any] = {f"{_POOL}.nodeNames": [f"gpu-{number}" for number in range(8)], _AT: {"addresses": True}}
_ALL_INTERFACES = [{"rail": rail, "interface": f"eth{rail}"} for rail in range(16)]


def _job(name: str, value: Any = True, **more: Any) -> dict[str, Any]:
    return {_AT: {name: value, **more}}


# A board of which no NIC is known.
_UNKNOWN_NICS = {f"{_POOL}.shape": "server.hgx-h100.8"}
_SPARE = {f"{_ADDRESSING}.spareNodes": 2, f"{_ADDRESSING}.surgeNodes": 1, "fabric.podsPerNic": 10}
_ADDRESSES = {**_NODES, **_job("addresses"), f"{_ADDRESSING}.reservedFirst": 2}

CASES = (
    good("HPR001", "spiderpool-macvlan", _job("disableAcs")),
    bad("HPR001", "doks-h200", {"fabric.hostPreparation": {"lossless": {}}}),
    irrelevant("HPR001", "doks-h200", _job("dryRun")),
    good("HPR002", "spiderpool-macvlan", _job("dryRun", disableAcs=True)),
    bad("HPR002", "spiderpool-macvlan", _job("dryRun"), ".dryRun"),
    irrelevant("HPR002", "spiderpool-macvlan"),
    good("HPR003", "spiderpool-macvlan", _ADDRESSES),
    bad("HPR003", "spiderpool-macvlan", _job("addresses"), f"{_POOL}.nodeNames"),
    irrelevant("HPR003", "spiderpool-macvlan"),
    good("HPR004", "spiderpool-ib", {f"{_ADDRESSING}.layout": "flat", **_job("addresses")}),
    bad("HPR004", "host-network", _job("addresses"), ".addresses"),
    bad("HPR004", "oke-h100-26-4", {f"{_ADDRESSING}.layout": "flat", **_job("addresses")}, ".addresses"),
    irrelevant("HPR004", "host-network"),
    good("HPR005", "oke-h100-26-4", {**_job("lossless", {}), "fabric.rails": _ALL_INTERFACES}),
    bad("HPR005", "ib-sriov", {**_UNKNOWN_NICS, **_job("ipoib")}, "fabric.rails"),
    irrelevant("HPR005", "sriov-ipv6", {**_UNKNOWN_NICS, **_job("disableAcs")}),
    good("HPR006", "spiderpool-macvlan", {**_NODES, **_job("addresses"), f"{_ADDRESSING}.reservedLast": 3}),
    good("HPR006", "spiderpool-sriov-per-node", _EXCLUSIVE),
    bad("HPR006", "spiderpool-macvlan", {**_NODES, **_job("addresses")}, f"{_ADDRESSING}.reservedFirst"),
    bad("HPR006", "spiderpool-macvlan", {**_ADDRESSES, **_SPARE, f"{_ADDRESSING}.reservedFirst": 4},
        f"{_ADDRESSING}.reservedFirst"),
    bad("HPR006", "spiderpool-macvlan", {**_NODES, **_job("addresses"), f"{_ADDRESSING}.reservedLast": 2}),
    bad("HPR006", "spiderpool-sriov-per-node", {**_EXCLUSIVE, f"{_ADDRESSING}.reservedFirst": 1}),
    irrelevant("HPR006", "spiderpool-macvlan", _NODES),
    good("HPR007", "spiderpool-macvlan", {**_ADDRESSES, f"{_ADDRESSING}.exclude": ["172.16.0.200", "172.16.0.3"]}),
    bad("HPR007", "spiderpool-macvlan", {**_ADDRESSES, f"{_ADDRESSING}.exclude": ["172.16.0.200", "172.16.3.2"]},
        "[1]"),
    irrelevant("HPR007", "spiderpool-macvlan", {f"{_ADDRESSING}.exclude": ["172.16.0.1"]}),
    good("HPR008", "spiderpool-macvlan", _job("lossless", {})),
    good("HPR008", "spiderpool-ib", _job("ipoib")),
    bad("HPR008", "spiderpool-macvlan", _job("ipoib"), ".ipoib"),
    bad("HPR008", "spiderpool-ib", {"fabric.hostPreparation": {"lossless": {"priority": 3}, "rdmaMode": True}},
        ".lossless"),
    irrelevant("HPR008", "spiderpool-ib", _job("disableAcs")),
    good("HPR009", "spiderpool-macvlan", _job("disableAcs")),
    bad("HPR009", "spiderpool-macvlan", _job("lossless", {"priority": 3, "dscp": 26}), ".lossless"),
    irrelevant("HPR009", "spiderpool-ib"),
    good("HPR010", "spiderpool-macvlan", _job("fabricRule")),
    bad("HPR010", "host-network", _job("fabricRule"), ".fabricRule"),
    irrelevant("HPR010", "host-network"),
    good("HPR011", "spiderpool-macvlan", _job("fabricRule")),
    bad("HPR011", "spiderpool-ib", _job("fabricRule"), ".fabricRule"),
    irrelevant("HPR011", "spiderpool-ib"),
    good("HPR012", "oke-h100-26-4", _job("linkType", "report")),
    bad("HPR012", "spiderpool-macvlan", _job("linkType", "report"), "fabric.rails"),
    irrelevant("HPR012", "spiderpool-macvlan"),
    good("HPR013", "oke-h100-26-4", _job("linkType", "report")),
    bad("HPR013", "oke-h100-26-4", _job("linkType", "change"), ".linkType"),
    irrelevant("HPR013", "oke-h100-26-4"),
    good("HPR014", "spiderpool-macvlan", _job("rdmaMode")),
    bad("HPR014", "spiderpool-ib", _job("rdmaMode"), ".rdmaMode"),
    irrelevant("HPR014", "spiderpool-ib"),
    good("HPR015", "sriov-operator", {**_job("rdmaMode"), "fabric.rdmaMode": "shared"}),
    bad("HPR015", "sriov-operator", _job("rdmaMode"), ".rdmaMode"),
    bad("HPR015", "guide-23-10", _job("rdmaMode"), ".rdmaMode"),
    irrelevant("HPR015", "sriov-operator"),
    good("HPR016", "spiderpool-ib", _job("addresses", ipoib=True)),
    bad("HPR016", "spiderpool-ib", _job("addresses"), ".addresses"),
    irrelevant("HPR016", "spiderpool-macvlan", _job("addresses")),
    good("HPR018", "spiderpool-macvlan", _job("lossless", {})),
    good("HPR018", "spiderpool-macvlan", {**_job("lossless", {}), "fabric.nccl.settings": {"NCCL_IB_TC": "162"}}),
    good("HPR018", "oke-h100-26-4", _job("lossless", {"priority": 1, "dscp": 10})),
    bad("HPR018", "oke-h100-26-4", _job("lossless", {}), ".lossless"),
    bad("HPR018", "spiderpool-macvlan", {**_job("lossless", {}), "fabric.nccl.settings": {"NCCL_IB_TC": "106"}},
        ".NCCL_IB_TC"),
    bad("HPR018", "spiderpool-macvlan", {**_job("lossless", {"priority": 3, "dscp": 26}),
        "fabric.nccl.settings": {"NCCL_IB_TC": "160"}}, ".NCCL_IB_TC"),
    irrelevant("HPR018", "spiderpool-macvlan", {"fabric.nccl.settings": {"NCCL_IB_TC": "106"}}),
    irrelevant("HPR018", "oke-h100-26-4", _job("lossless", {}, dryRun=True)),
    good("HPR017", "host-device", _job("disableAcs")),
    good("HPR017", "dranet-own-shape"),
    bad("HPR017", "dranet-own-shape", {"fabric.hostPreparation": {"addresses": True, "lossless": {}}}, ".lossless"),
    bad("HPR017", "host-device", _job("addresses", lossless={}), ".addresses", ".lossless"),
    bad("HPR017", "host-device", {"fabric.hostPreparation": {"lossless": {}}}, ".lossless"),
    irrelevant("HPR017", "spiderpool-macvlan", _job("lossless", {})),
)  # fmt: skip
