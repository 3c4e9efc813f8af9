"""One address plan in the words of each IPAM: pool objects, and what a network says about its addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.plan import Plan
from fabric.plan.addresses import AddressDemand, AddressPlan, plan_addresses
from fabric.plan.ipam import cni_ipam, pool_objects
from fabric.plan.ipam.spiderpool import pool_pattern
from fabric.spec import Addressing, AddressRanges

Json = dict[str, Any]
PlanWith = Callable[[Any], Plan]

OPERATOR = "nvidia-network-operator"
NAMES = ("gpu-a", "gpu-b", "gpu-c")


def planned(layout: str, ipam: str, section: Json, **demand: Any) -> AddressPlan:
    """A plan for three nodes with twelve rails and one pod a NIC, unless `demand` says otherwise."""
    given = {"layout": layout, "ipam": ipam, "rails": 12, "addresses_per_nic": 1, "nodes": 3, **demand}
    plan = plan_addresses(Addressing.model_validate(section), AddressRanges(), AddressDemand(**given))
    assert isinstance(plan, AddressPlan), plan
    return plan


def manifests(plan: AddressPlan) -> list[Json]:
    return [entry.object.manifest() for entry in pool_objects(plan, OPERATOR)]


def specs(layout: str, ipam: str, section: Json, **demand: Any) -> list[Json]:
    return [manifest["spec"] for manifest in manifests(planned(layout, ipam, section, **demand))]


def section_of(plan: AddressPlan, rail: int = 0) -> Json | None:
    ipam = cni_ipam(plan, plan.pool_of(rail))
    return None if ipam is None else ipam.to_dict()


def test_a_shared_subnet_is_an_ip_pool_in_the_operators_namespace() -> None:
    first = manifests(planned("per-rail", "nv-ipam", {"supernet": "192.168.0.0/16"}))[0]

    assert first == {
        "apiVersion": "nv-ipam.nvidia.com/v1alpha1",
        "kind": "IPPool",
        "metadata": {"name": "rail-00", "namespace": OPERATOR},
        "spec": {"subnet": "192.168.0.0/20", "perNodeBlockSize": 1},
    }


def test_a_flat_fabric_is_the_one_pool_of_the_oke_guide() -> None:
    section = {"supernet": "192.168.0.0/16", "addressesPerNode": 100, "gateway": "first"}

    assert specs("flat", "nv-ipam", section) == [
        {"subnet": "192.168.0.0/16", "perNodeBlockSize": 100, "gateway": "192.168.0.1"}
    ]


def test_what_is_reserved_or_excluded_becomes_exclusions_of_the_pool_it_lies_in() -> None:
    section = {
        "supernet": "10.0.0.0/20",
        "addressesPerNode": 8,
        "reservedFirst": 2,
        "reservedLast": 1,
        "exclude": ["10.0.0.20", "10.0.0.17-10.0.0.19", "10.0.1.16/30"],
    }
    first, second, third = specs("per-rail", "nv-ipam", section)[:3]

    assert first["exclusions"] == [
        {"startIP": "10.0.0.1", "endIP": "10.0.0.2"},
        {"startIP": "10.0.0.254", "endIP": "10.0.0.254"},
        {"startIP": "10.0.0.17", "endIP": "10.0.0.20"},
    ]
    assert second["exclusions"][2:] == [{"startIP": "10.0.1.16", "endIP": "10.0.1.19"}]
    assert third["exclusions"][2:] == []


def test_an_exclusion_over_two_rails_is_cut_at_their_border() -> None:
    section = {"supernet": "10.0.0.0/20", "exclude": ["10.0.0.250-10.0.1.63"], "addressesPerNode": 64}
    first, second = specs("per-rail", "nv-ipam", section, rails=2)

    assert first["exclusions"] == [{"startIP": "10.0.0.250", "endIP": "10.0.0.255"}]
    assert second["exclusions"] == [{"startIP": "10.0.1.0", "endIP": "10.0.1.63"}]


def test_prefixes_of_their_own_are_a_cidr_pool_a_rail() -> None:
    section = {"supernet": "10.128.0.0/16", "nodePrefixLength": 29, "gateway": "first"}
    first = manifests(planned("per-node", "nv-ipam", section))[0]

    assert (first["kind"], first["metadata"]["namespace"]) == ("CIDRPool", OPERATOR)
    assert first["spec"] == {"cidr": "10.128.0.0/20", "perNodeNetworkPrefix": 29, "gatewayIndex": 1}


@pytest.mark.parametrize(
    ("supernet", "length", "gateway", "index"),
    [
        ("10.0.0.0/16", 29, "first", 1),
        ("10.0.0.0/16", 29, "last", 6),
        ("10.0.0.0/16", 31, "first", 0),
        ("10.0.0.0/16", 31, "last", 1),
        ("fd00:10::/48", 64, "first", 1),
        ("fd00:10::/48", 127, "first", 0),
        ("fd00:10::/48", 120, "last", 255),
    ],
)
def test_the_gateway_index_counts_from_a_prefix_first_address(
    supernet: str, length: int, gateway: str, index: int
) -> None:
    section = {"supernet": supernet, "nodePrefixLength": length, "gateway": gateway}

    assert specs("per-node", "nv-ipam", section)[0]["gatewayIndex"] == index


@pytest.mark.parametrize(
    ("supernet", "length", "indexes"),
    [("10.0.0.0/16", 28, [(1, 2), (14, 14)]), ("fd00:10::/48", 124, [(1, 2), (15, 15)])],
)
def test_reserved_addresses_are_places_in_every_nodes_prefix(
    supernet: str, length: int, indexes: list[tuple[int, int]]
) -> None:
    section = {"supernet": supernet, "nodePrefixLength": length, "reservedFirst": 2, "reservedLast": 1}
    (first, *_) = specs("per-node", "nv-ipam", section)

    assert first["perNodeExclusions"] == [{"startIndex": start, "endIndex": end} for start, end in indexes]
    assert "exclusions" not in first


def test_what_is_excluded_from_a_rail_is_excluded_from_the_prefixes_in_it() -> None:
    section = {"supernet": "10.0.0.0/16", "nodePrefixLength": 28, "exclude": ["10.0.0.20", "10.0.16.5"]}

    assert [spec.get("exclusions") for spec in specs("per-node", "nv-ipam", section)[:3]] == [
        [{"startIP": "10.0.0.20", "endIP": "10.0.0.20"}],
        [{"startIP": "10.0.16.5", "endIP": "10.0.16.5"}],
        None,
    ]


def test_the_far_end_of_a_31_is_reserved_by_its_place() -> None:
    section = {"supernet": "10.0.0.0/16", "nodePrefixLength": 31, "gateway": "first", "reservedFirst": 1}

    assert specs("per-node", "nv-ipam", section)[0]["perNodeExclusions"] == [{"startIndex": 0, "endIndex": 0}]


def test_named_nodes_get_their_prefixes_in_writing() -> None:
    section = {"supernet": "10.0.0.0/16", "nodePrefixLength": 31}
    spec = specs("per-node", "nv-ipam", section, node_names=NAMES)[11]

    assert spec["staticAllocations"] == [
        {"nodeName": "gpu-a", "prefix": "10.0.176.0/31"},
        {"nodeName": "gpu-b", "prefix": "10.0.176.2/31"},
        {"nodeName": "gpu-c", "prefix": "10.0.176.4/31"},
    ]


def test_without_names_nv_ipam_hands_the_prefixes_out_itself() -> None:
    assert "staticAllocations" not in specs("per-node", "nv-ipam", {"supernet": "10.0.0.0/16"})[0]


def test_a_network_names_its_pool_and_of_what_kind_it_is() -> None:
    shared = planned("per-rail", "nv-ipam", {"supernet": "10.0.0.0/16"})
    own = planned("per-node", "nv-ipam", {"supernet": "10.0.0.0/16"})

    assert section_of(shared, 3) == {"type": "nv-ipam", "poolName": "rail-03"}
    assert section_of(own, 3) == {"type": "nv-ipam", "poolName": "rail-03", "poolType": "cidrpool"}


def test_whereabouts_has_its_range_in_the_network_and_no_objects() -> None:
    section = {
        "supernet": "192.168.0.0/16",
        "gateway": "first",
        "reservedLast": 4,
        "exclude": ["192.168.0.10-192.168.0.20"],
    }
    plan = planned("per-rail", "whereabouts", section)

    assert manifests(plan) == []
    assert section_of(plan) == {
        "type": "whereabouts",
        "range": "192.168.0.0/20",
        "range_start": "192.168.0.2",
        "range_end": "192.168.15.250",
        "exclude": ["192.168.0.10/31", "192.168.0.12/30", "192.168.0.16/30", "192.168.0.20/32"],
        "gateway": "192.168.0.1",
    }


def test_whereabouts_excludes_nothing_that_its_ends_leave_out_anyway() -> None:
    section = {"supernet": "192.168.0.0/16", "exclude": ["192.168.0.0-192.168.0.9", "192.168.15.200/29"]}
    found = section_of(planned("per-rail", "whereabouts", section))

    assert found is not None
    assert (found["range_start"], found["range_end"], found["exclude"]) == (
        "192.168.0.10",
        "192.168.15.254",
        ["192.168.15.200/29"],
    )


def test_all_rails_of_a_flat_fabric_have_the_same_whereabouts_range() -> None:
    plan = planned("flat", "whereabouts", {"supernet": "192.168.0.0/16"})

    assert section_of(plan, 0) == section_of(plan, 11)


def test_spiderpool_has_a_pool_a_rail_with_the_gaps_left_out() -> None:
    section = {"supernet": "172.16.0.0/20", "gateway": "last", "exclude": ["172.16.0.10", "172.16.0.12-172.16.0.20"]}
    first = manifests(planned("per-rail", "spiderpool", section))[0]

    assert first == {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderIPPool",
        "metadata": {"name": "rail-00"},
        "spec": {
            "subnet": "172.16.0.0/24",
            "ipVersion": 4,
            "ips": ["172.16.0.1-172.16.0.9", "172.16.0.11", "172.16.0.21-172.16.0.253"],
            "gateway": "172.16.0.254",
        },
    }


def test_spiderpools_flat_rails_have_one_subnet_and_disjoint_addresses() -> None:
    section = {"supernet": "172.17.0.0/16", "gateway": "first"}
    found = specs("flat", "spiderpool", section, rails=2)

    assert [(spec["subnet"], spec["gateway"], spec["ips"]) for spec in found] == [
        ("172.17.0.0/16", "172.17.0.1", ["172.17.0.2-172.17.15.254"]),
        ("172.17.0.0/16", "172.17.0.1", ["172.17.16.1-172.17.31.254"]),
    ]


def test_spiderpool_has_a_pool_for_every_node_and_rail_bound_by_name() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first", "reservedFirst": 2}
    found = manifests(planned("per-node", "spiderpool", section, node_names=NAMES, addresses_per_nic=28))

    assert len(found) == 36
    assert found[1]["metadata"]["name"] == "rail-00-gpu-b"
    assert found[1]["spec"] == {
        "subnet": "172.17.0.32/27",
        "ipVersion": 4,
        "ips": ["172.17.0.35-172.17.0.62"],
        "gateway": "172.17.0.33",
        "nodeName": ["gpu-b"],
    }


def test_spiderpools_first_pool_is_that_of_the_share_that_the_nodes_start_from() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first"}
    first, second, _ = specs("per-node", "spiderpool", section, rails=1, node_names=NAMES, node_numbers=(4, 5, 6))

    assert (first["subnet"], first["gateway"], first["ips"], first["nodeName"]) == (
        "172.17.0.128/27",
        "172.17.0.129",
        ["172.17.0.130-172.17.0.158"],
        ["gpu-a"],
    )
    assert (second["subnet"], second["gateway"]) == ("172.17.0.160/27", "172.17.0.161")


def test_spiderpools_pools_of_unnamed_nodes_are_numbered_in_text_order() -> None:
    plan = planned("per-node", "spiderpool", {"supernet": "172.16.0.0/12"}, nodes=120)
    names = [manifest["metadata"]["name"] for manifest in manifests(plan)]

    assert names == sorted(names)
    assert (names[0], names[-1]) == ("rail-00-node-0000", "rail-11-node-0119")


def test_the_pattern_of_a_rail_matches_no_other_rails_pools() -> None:
    shared = planned("per-rail", "spiderpool", {"supernet": "172.16.0.0/12"})
    own = planned("per-node", "spiderpool", {"supernet": "172.16.0.0/12"}, names={1: "rail-1", 10: "rail-10"})

    assert pool_pattern(shared.pools[1]) == "rail-01"
    assert (pool_pattern(own.pools[1]), pool_pattern(own.pools[10])) == ("rail-1-*", "rail-10-*")


def test_spiderpool_is_asked_to_enumerate_no_whole_64() -> None:
    (spec, *_) = specs("per-node", "spiderpool", {"supernet": "fd00:10::/48"})

    assert (spec["subnet"], spec["ipVersion"], spec["ips"]) == ("fd00:10::/64", 6, ["fd00:10::1-fd00:10::1:0"])


def test_spiderpools_addresses_are_in_no_network_section() -> None:
    assert section_of(planned("per-rail", "spiderpool", {"supernet": "172.16.0.0/12"})) is None


@pytest.mark.parametrize("layout", ["per-rail", "per-node"])
def test_nv_ipam_gives_shares_to_nodes_that_carry_every_label_of_the_pools(plan_with: PlanWith, layout: str) -> None:
    plan = plan_with({"fabric.addressing.layout": layout, "cluster.pools[0].labels": {"rack": "a"}})

    assert [entry.object.manifest()["spec"]["nodeSelector"] for entry in plan.ip_pools] == 16 * [
        {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["BM.GPU.H100.8"]},
                        {"key": "rack", "operator": "In", "values": ["a"]},
                    ]
                }
            ]
        }
    ]


def test_where_no_label_tells_the_gpu_nodes_nv_ipam_gives_shares_to_those_with_nvidias_nics(
    stack_plans: tuple[Plan, ...],
) -> None:
    plan = next(plan for plan in stack_plans if plan.stack == "ib-sriov")
    (term,) = plan.ip_pools[0].object.manifest()["spec"]["nodeSelector"]["nodeSelectorTerms"]

    assert term["matchExpressions"] == [
        {"key": "feature.node.kubernetes.io/pci-15b3.present", "operator": "In", "values": ["true"]}
    ]


@pytest.mark.parametrize(("layout", "ipam"), [("none", "host"), ("none", "nv-ipam")])
def test_without_addresses_there_is_nothing_to_make_or_to_name(layout: str, ipam: str) -> None:
    plan = planned(layout, ipam, {})

    assert (manifests(plan), section_of(plan)) == ([], None)
