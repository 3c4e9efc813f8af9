"""Cases of the group `ipam`."""

from __future__ import annotations

from rules.alterations import (
    with_another_range_of_rail_0,
    with_pools_of_rail_0_as_ipv6,
    with_the_pool_of_rail_0_in_namespace_default,
    without_ipam_of_rail_0,
    without_nv_ipam,
    without_the_pool_of_rail_0,
    without_the_pools_of_all_nodes_on_rail_0,
)
from rules.tables import bad, broken, good, irrelevant

_IPV6 = {"layout": "per-node", "supernet": "fd00:10::/48"}

_TAINTS = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]

CASES = (
    good("IPM001", "sriov-ipv6", {"fabric.addressing": {**_IPV6, "gateway": "first", "reservedFirst": 4}}),
    good("IPM001", "sriov-ipv6", {"fabric.addressing": {**_IPV6, "gateway": "last", "nodePrefixLength": 97}}),
    bad("IPM001", "sriov-ipv6", {"fabric.addressing": {**_IPV6, "gateway": "last"}}, ".gateway"),
    bad("IPM001", "sriov-ipv6", {"fabric.addressing": {**_IPV6, "reservedLast": 1}}, ".reservedLast"),
    irrelevant("IPM001", "sriov-ipv6", {"fabric.addressing.gateway": "last"}),
    good("IPM002", "sriov-ipv6", {"fabric.addressing.ipam": "whereabouts", "fabric.addressing.prefixLength": 65}),
    bad("IPM002", "sriov-ipv6", {"fabric.addressing.ipam": "whereabouts"}, "fabric.addressing.prefixLength"),
    bad("IPM002", "sriov-ipv6", {"fabric.addressing.ipam": "whereabouts", "fabric.addressing.prefixLength": 64}),
    irrelevant("IPM002", "sriov-ipv6"),
    irrelevant("IPM002", "sriov-whereabouts"),
    good("IPM003", "oke-h100-26-4", {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first"}),
    bad("IPM003", "oke-h100-26-4", {"software.releaseLine": "23.10"}, "fabric.addressing.gateway"),
    irrelevant("IPM003", "sriov-whereabouts", {"software.releaseLine": "23.10"}),
    good("IPM004", "spiderpool-sriov-per-node", {
        "fabric.addressing": {**_IPV6, "nodePrefixLength": 120, "gateway": "first", "reservedFirst": 2},
    }),
    good("IPM004", "spiderpool-ib", {"fabric.addressing.layout": "flat"}),
    broken("IPM004", "oke-h100-26-4", without_the_pool_of_rail_0, "fabric.addressing.ipam"),
    broken("IPM004", "sriov-per-node", with_the_pool_of_rail_0_in_namespace_default, "fabric.addressing.ipam"),
    broken("IPM004", "host-device", without_nv_ipam, "fabric.addressing.ipam"),
    broken("IPM004", "spiderpool-macvlan", without_the_pool_of_rail_0, "fabric.addressing.ipam"),
    broken("IPM004", "spiderpool-sriov-per-node", without_the_pools_of_all_nodes_on_rail_0, "fabric.addressing.ipam"),
    broken("IPM004", "spiderpool-macvlan", with_pools_of_rail_0_as_ipv6, "fabric.addressing.ipam"),
    broken("IPM004", "sriov-per-node", without_ipam_of_rail_0, "fabric.addressing.ipam"),
    broken("IPM004", "sriov-whereabouts", with_another_range_of_rail_0, "fabric.addressing.ipam"),
    bad("IPM004", "guide-23-10", {"software.networkOperator.values": {"nvIpam": {"deploy": False}}},
        "fabric.addressing.ipam"),
    good("IPM004", "sriov-whereabouts", {"software.releaseLine": "23.10"}),
    bad("IPM004", "sriov-whereabouts", {"software.releaseLine": "23.10",
        "software.networkOperator.values": {"secondaryNetwork": {"ipamPlugin": {"deploy": False}}}},
        "fabric.addressing.ipam"),
    irrelevant("IPM004", "host-network"),
    good("IPM005", "oke-h100-26-4", {"fabric.addressing.reservedFirst": 2}),
    bad("IPM005", "guide-23-10", {"fabric.addressing.reservedFirst": 4, "fabric.addressing.reservedLast": 1},
        "fabric.addressing.reservedFirst", "fabric.addressing.reservedLast"),
    bad("IPM005", "guide-23-10", {"fabric.addressing.exclude": ["192.168.9.0/24"]}),
    irrelevant("IPM005", "sriov-whereabouts", {"software.releaseLine": "23.10"}),
    good("IPM006", "whereabouts", {"cluster.pools[0].taints": []}),
    bad("IPM006", "whereabouts", {"cluster.pools[0].taints": _TAINTS}, "cluster.pools"),
    irrelevant("IPM006", "sriov-per-node", {"cluster.pools[0].taints": _TAINTS}),
    good("IPM007", "whereabouts", {"software.networkOperator.namespace": "nvidia"}),
    bad("IPM007", "whereabouts", {"software.networkOperator.namespace": "network-operator"}),
    irrelevant("IPM007", "oke-guide", {"software.networkOperator.namespace": "network-operator"}),
)  # fmt: skip
