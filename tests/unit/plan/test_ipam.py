"""One address plan in the words of each IPAM: pool objects, and what a network says about its addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, plan_addresses
from gpu_fabric.plan.ipam import cni_ipam, pool_objects
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec

Json = dict[str, Any]
PlanWith = Callable[[Any], Plan]

OPERATOR = "nvidia-network-operator"
NAMES = ("gpu-a", "gpu-b", "gpu-c")


def planned(layout: str, ipam: str, section: Json, **demand: Any) -> AddressPlan:
    """A plan for three nodes with twelve rails and one pod a NIC, unless `demand` says otherwise."""
    given = {"layout": layout, "ipam": ipam, "rails": 12, "addresses_per_nic": 1, "nodes": 3, **demand}
    plan = plan_addresses(AddressingSpec.model_validate(section), AddressRangesSpec(), AddressDemand(**given))
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
        {"startIP": "10.0.0.17", "endIP": "10.0.0.20"},
        {"startIP": "10.0.0.254", "endIP": "10.0.0.254"},
    ]
    assert second["exclusions"][1] == {"startIP": "10.0.1.16", "endIP": "10.0.1.19"}
    assert len(third["exclusions"]) == 2


def span(text: str) -> Json:
    start, _, end = text.partition("-")
    return {"startIP": start, "endIP": end or start}


@pytest.mark.parametrize(
    ("section", "written"),
    [
        ({"reservedFirst": 10, "exclude": ["10.0.0.5"], "addressesPerNode": 32}, ["10.0.0.1-10.0.0.10"]),
        ({"reservedFirst": 10, "exclude": ["10.0.0.8-10.0.0.12"], "addressesPerNode": 32}, ["10.0.0.1-10.0.0.12"]),
        ({"reservedFirst": 10, "exclude": ["10.0.0.11"], "addressesPerNode": 32}, ["10.0.0.1-10.0.0.11"]),
        ({"reservedLast": 4, "exclude": ["10.0.0.250-10.0.0.252"]}, ["10.0.0.250-10.0.0.254"]),
        (
            {"gateway": "first", "reservedFirst": 4, "exclude": ["10.0.0.2"], "addressesPerNode": 16},
            ["10.0.0.1-10.0.0.4"],
        ),
        ({"exclude": ["10.0.0.250/31", "10.0.0.250"]}, ["10.0.0.250-10.0.0.251"]),
    ],
)
def test_exclusions_of_a_shared_subnet_never_overlap(section: Json, written: list[str]) -> None:
    first = specs("per-rail", "nv-ipam", {"supernet": "10.0.0.0/20", **section})[0]

    assert first["exclusions"] == [span(text) for text in written]


@pytest.mark.parametrize(
    ("exclude", "written"),
    [
        (["10.0.0.66"], None),
        (["10.0.0.67-10.0.0.69"], ["10.0.0.68-10.0.0.69"]),
        (["10.0.0.77-10.0.0.78"], ["10.0.0.77"]),
        # The fourth prefix's end, and the fifth as a whole, and the start of the sixth.
        (
            ["10.0.0.60-10.0.0.85"],
            ["10.0.0.60-10.0.0.61", "10.0.0.63", "10.0.0.64-10.0.0.79", "10.0.0.80", "10.0.0.84-10.0.0.85"],
        ),
        (["10.0.0.64/28"], ["10.0.0.64-10.0.0.79"]),
    ],
)
def test_what_prefixes_reserve_is_not_excluded_twice(exclude: list[str], written: list[str] | None) -> None:
    section = {"supernet": "10.0.0.0/16", "nodePrefixLength": 28, "reservedFirst": 3, "reservedLast": 1}
    first = specs("per-node", "nv-ipam", {**section, "exclude": exclude})[0]

    assert first.get("exclusions") == (written and [span(text) for text in written])


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


@pytest.mark.parametrize("layout", ["per-rail", "per-node"])
def test_nv_ipam_gives_shares_to_nodes_that_carry_every_label_of_the_pools(plan_with: PlanWith, layout: str) -> None:
    plan = plan_with({"fabric.addressing.layout": layout, "cluster.pools[0].labels": {"rack": "a"}})

    assert [entry.object.manifest()["spec"]["nodeSelector"] for entry in plan.applied("ip-pools")] == 16 * [
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
    (term,) = plan.applied("ip-pools")[0].object.manifest()["spec"]["nodeSelector"]["nodeSelectorTerms"]

    assert term["matchExpressions"] == [
        {"key": "feature.node.kubernetes.io/pci-15b3.present", "operator": "In", "values": ["true"]}
    ]


@pytest.mark.parametrize(("layout", "ipam"), [("none", "host"), ("none", "nv-ipam")])
def test_without_addresses_there_is_nothing_to_make_or_to_name(layout: str, ipam: str) -> None:
    plan = planned(layout, ipam, {})

    assert (manifests(plan), section_of(plan)) == ([], None)
