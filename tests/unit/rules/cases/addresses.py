"""Cases of the group `addresses`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_AT = "fabric.addressing"
_NODES = "cluster.pools[0].nodes"
_LARGE = {f"fabric.addressing.{key}": value for key, value in (("supernet", "11.0.0.0/8"), ("prefixLength", None))}


def _pinned(*first_shares: int | None, shape: str = "BM.GPU.H100.8") -> list[dict[str, Any]]:
    """Pools of two named nodes each, with the share of each one's first node."""
    return [
        {
            "name": f"pool-{pool}",
            "shape": shape,
            "nodes": 2,
            "nodeNames": [f"node-{pool}-0", f"node-{pool}-1"],
            **({} if first is None else {"firstShare": first}),
        }
        for pool, first in enumerate(first_shares)
    ]


def _with_hosts(*first_shares: int | None) -> dict[str, Any]:
    """The same pools where the hosts get addresses, in shared subnets with room for them."""
    return {
        "cluster.pools": _pinned(*first_shares, shape="guide-cx5"),
        "fabric.hostPreparation": {"addresses": True},
        "fabric.podsPerNic": 10,
        f"{_AT}.reservedLast": 54,
    }


_EVERY_KEY: dict[str, dict[str, Any]] = {
    _AT: {
        "supernet": "192.168.0.0/16",
        "railSlots": 8,
        "prefixLength": 20,
        "nodePrefixLength": 29,
        "addressesPerNode": 4,
        "gateway": "first",
        "reservedFirst": 1,
        "reservedLast": 1,
        "exclude": ["192.168.0.1"],
        "spareNodes": 1,
        "surgeNodes": 1,
        "growthStep": 2,
    }
}


CASES = (
    good("ADR001", "host-device"),
    bad("ADR001", "host-device", {f"{_AT}.spareNodes": 5000}, f"{_AT}.supernet"),
    irrelevant("ADR001", "host-network", {_NODES: 8192}),
    good("ADR002", "host-device"),
    bad("ADR002", "host-device", {f"{_AT}.supernet": "10.244.0.0/17"}),
    irrelevant("ADR002", "host-network", {f"{_AT}.supernet": "10.244.0.0/17"}),
    good("ADR003", "oke-h200"),
    bad("ADR003", "oke-h200", {"cluster.vcn.subnetIds": {"pods": "ocid1.subnet.oc1.us-chicago-1.aaaaaaaaexample"}},
        "cluster.ranges"),
    irrelevant("ADR003", "host-network", {"cluster.ranges": None}),
    # Since 26.1 blocks of one pass the gateway over; the line 23.10 has no such blocks, and larger ones hold it.
    good("ADR004", "host-device", {f"{_AT}.gateway": "first", f"{_AT}.addressesPerNode": 1}),
    bad("ADR004", "roce-macvlan", {f"{_AT}.gateway": "first", f"{_AT}.addressesPerNode": 2, "fabric.podsPerNic": 2},
        f"{_AT}.addressesPerNode"),
    irrelevant("ADR004", "host-device", {f"{_AT}.addressesPerNode": 1}),
    good("ADR005", "host-device"),
    bad("ADR005", "host-device", {f"{_AT}.supernet": None}),
    irrelevant("ADR005", "host-network"),
    good("ADR006", "spiderpool-macvlan", {"fabric.podsPerNic": 1000, f"{_AT}.prefixLength": 19, _NODES: 5}),
    bad("ADR006", "spiderpool-macvlan", {"fabric.podsPerNic": 1000, f"{_AT}.prefixLength": 19, _NODES: 6},
        f"{_AT}.layout"),
    good("ADR006", "spiderpool-sriov-per-node", {_NODES: 8192, **_LARGE}),
    bad("ADR006", "spiderpool-sriov-per-node", {**_LARGE, "cluster.pools": [{"name": name, "shape": "guide-cx5",
        "nodes": 8192} for name in ("a", "b", "c", "d")]}, f"{_AT}.layout"),
    irrelevant("ADR006", "host-network", {_NODES: 8192}),
    good("ADR007", "host-device", {f"{_AT}.prefixLength": 20}),
    bad("ADR007", "host-device", {f"{_AT}.prefixLength": 12}),
    bad("ADR007", "host-device", {f"{_AT}.railSlots": 8}),
    irrelevant("ADR007", "host-network"),
    good("ADR008", "host-device", {f"{_AT}.layout": "flat", f"{_AT}.addressesPerNode": 16}),
    bad("ADR008", "host-device", {f"{_AT}.layout": "flat", f"{_AT}.addressesPerNode": 15}),
    bad("ADR008", "sriov-per-node", {f"{_AT}.nodePrefixLength": 32}),
    irrelevant("ADR008", "host-network"),
    good("ADR009", "host-device", {f"{_AT}.exclude": ["192.168.0.1"], _NODES: 1}),
    bad("ADR009", "host-device", {f"{_AT}.exclude": ["192.168.0.1-192.168.0.2"], f"{_AT}.addressesPerNode": 2,
        _NODES: 1}, f"{_AT}.exclude"),
    irrelevant("ADR009", "host-device"),
    good("ADR010", "host-device", {f"{_AT}.exclude": ["192.168.0.0/30"]}),
    bad("ADR010", "host-device", {f"{_AT}.exclude": ["192.168.15.9", "192.169.0.1", "192.168.255.0-192.169.0.0"]},
        "[1]", "[2]"),
    bad("ADR010", "host-device", {f"{_AT}.exclude": ["192.168.0.0/15"]}, "[0]"),
    irrelevant("ADR010", "host-device"),
    good("ADR011", "sriov-per-node", {f"{_AT}.growthStep": 2}),
    bad("ADR011", "host-device", {f"{_AT}.nodePrefixLength": 29}),
    bad("ADR011", "host-device", {f"{_AT}.layout": "flat", f"{_AT}.nodePrefixLength": 29}),
    bad("ADR011", "host-network", _EVERY_KEY, *(f"{_AT}.{key}" for key in sorted(_EVERY_KEY[_AT]))),
    bad("ADR011", "host-device", {f"{_AT}.layout": "flat", f"{_AT}.firstRailSlot": 1}),
    good("ADR011", "spiderpool-ib", {f"{_AT}.layout": "flat", f"{_AT}.firstRailSlot": 1}),
    irrelevant("ADR011", "host-network"),
    good("ADR012", "sriov-whereabouts", {_NODES: 300}),
    bad("ADR012", "sriov-whereabouts", {_NODES: 301}, f"{_AT}.ipam"),
    irrelevant("ADR012", "host-device", {_NODES: 400}),
    good("ADR012", "sriov-whereabouts", {_NODES: 255, f"{_AT}.layout": "flat"}),
    bad("ADR012", "sriov-whereabouts", {_NODES: 256, f"{_AT}.layout": "flat"}, f"{_AT}.ipam"),
    good("ADR012", "roce-macvlan", {_NODES: 3, "fabric.podsPerNic": 100, f"{_AT}.ipam": "whereabouts"}),
    bad("ADR012", "roce-macvlan", {_NODES: 4, "fabric.podsPerNic": 100, f"{_AT}.ipam": "whereabouts"}),
    good("ADR013", "spiderpool-sriov-per-node", {_NODES: 64}),
    bad("ADR013", "spiderpool-sriov-per-node", {_NODES: 65}, f"{_AT}.layout"),
    good("ADR013", "sriov-per-node", {"fabric.manager": "spiderpool", _NODES: 32}),
    bad("ADR013", "sriov-per-node", {"fabric.manager": "spiderpool", _NODES: 33}, f"{_AT}.layout"),
    irrelevant("ADR013", "sriov-per-node", {_NODES: 65}),
    good("ADR014", "sriov-ipv6"),
    bad("ADR014", "host-device", {f"{_AT}.supernet": "127.0.0.0/8"}),
    bad("ADR014", "host-device", {f"{_AT}.supernet": "239.0.0.0/12"}),
    bad("ADR014", "sriov-ipv6", {f"{_AT}.supernet": "fe80::/48"}),
    bad("ADR014", "host-device", {f"{_AT}.supernet": "126.0.0.0/7"}),
    bad("ADR014", "host-device", {f"{_AT}.supernet": "240.0.0.0/8"}),
    *(bad("ADR014", "host-device", {f"{_AT}.supernet": wrong})
        for wrong in ("224.0.0.0/8", "239.0.0.0/16", "ff00::/16", "127.16.0.0/16", "169.254.0.0/16", "fe80::/32")),
    irrelevant("ADR014", "host-network"),
    good("ADR015", "host-device", {f"{_AT}.supernet": "10.0.0.0/8"}),
    good("ADR015", "host-device", {f"{_AT}.supernet": "100.64.0.0/12"}),
    bad("ADR015", "host-device", {f"{_AT}.supernet": "8.0.0.0/12"}),
    bad("ADR015", "host-device", {f"{_AT}.supernet": "172.0.0.0/8"}),
    bad("ADR015", "sriov-ipv6", {f"{_AT}.supernet": "2600::/48"}),
    irrelevant("ADR015", "host-network"),
    irrelevant("ADR015", "host-device", {f"{_AT}.supernet": "126.0.0.0/7"}),
    good("ADR016", "host-device"),
    bad("ADR016", "host-device", {f"{_AT}.growthStep": 8000}, f"{_AT}.supernet"),
    irrelevant("ADR016", "host-network"),
    good("ADR017", "oke-h100-26-4", {"cluster.ranges.pods": "10.140.128.0/17"}),
    bad("ADR017", "host-device", {"cluster.ranges.services": "10.0.0.0/24"}),
    irrelevant("ADR017", "doks-h200", {"cluster.ranges.services": "10.156.0.0/19"}),
    # The last number of the second pool is the first of the first one.
    bad("ADR018", "sriov-per-node", {"cluster.pools": _pinned(1, 0)}, "[1].firstShare"),
    bad("ADR018", "host-device", {"cluster.pools[0].firstShare": 4}),
    bad("ADR018", "sriov-per-node", {"cluster.pools[0].firstShare": 4}),
    good("ADR018", "spiderpool-macvlan", {**_with_hosts(0, 16), "cluster.pools[0].nodeNames": ["a", "", "b"]}),
    bad("ADR018", "host-device", {"cluster.pools[0].nodes": 2, "cluster.pools[0].nodeNames": ["a", "", "b"],
        "fabric.addressing.layout": "per-rail"}, "cluster.pools[0].nodeNames"),
    irrelevant("ADR018", "host-network"),
    good("ADR019", "spiderpool-macvlan", _with_hosts(None, 16)),
    bad("ADR019", "spiderpool-macvlan", _with_hosts(None, None), "cluster.pools[1]"),
    irrelevant("ADR019", "spiderpool-macvlan", {"cluster.pools": _pinned(None, None, shape="guide-cx5")}),
    good("ADR020", "dev", {"cluster.ranges": {"pods": "10.244.0.0/16", "reserved": ["169.254.0.0/16"]}}),
    *(bad("ADR020", "dev", {f"cluster.ranges.{key}": wrong})
        for key, wrong in (("pods", "224.0.0.0/8"), ("pods", "127.0.0.0/16"), ("pods", "169.254.0.0/16"),
        ("pods", "240.0.0.0/8"), ("nodes", "224.0.0.0/8"), ("nodes", "127.0.0.0/16"), ("nodes", "240.0.0.0/8"),
        ("services", "127.0.0.0/16"), ("nodes", "169.254.0.0/16"), ("pods", "fe80::/64"),
        ("services", "240.0.0.0/12"))),
    irrelevant("ADR020", "dev", {"cluster.ranges": None}),
    good("ADR021", "dev", {"cluster.ranges.pods": "172.18.0.0/16"}),
    bad("ADR021", "dev", {"cluster.ranges.pods": "172.16.0.0/14"}),
    bad("ADR021", "dev", {"cluster.ranges.nodes": "172.17.8.0/24"}),
    irrelevant("ADR021", "dev", {"cluster.ranges": None}),
    good("ADR022", "oke-h100-26-4", {"cluster.ranges.reserved": ["172.16.0.0/16", "10.139.0.0/16"]}),
    bad("ADR022", "oke-h100-26-4", {"cluster.ranges.reserved": ["10.96.0.0/16"]}, "[0]"),
    irrelevant("ADR022", "host-device", {"cluster.ranges.reserved": ["10.244.0.0/16"]}),
    good("ADR023", "host-device", {"cluster.ranges.reserved": ["172.16.0.0/16"]}),
    bad("ADR023", "host-device", {"cluster.ranges.reserved": ["10.244.0.0/16"]}, "[0]"),
    irrelevant("ADR023", "oke-h100-26-4", {"cluster.ranges.reserved": ["10.96.0.0/16"]}),
)  # fmt: skip
