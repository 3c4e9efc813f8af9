"""The address plan: who gets which subnet, how many nodes it serves, and what is said when it does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabric.plan.addresses import AddressPlan, plan_addresses
from fabric.rules import Finding
from fabric.spec import Addressing, AddressRanges

RAILS = 16
NO_RANGES = AddressRanges()
STATED = AddressRanges(
    pods=IPv4Network("10.244.0.0/16"), services=IPv4Network("10.96.0.0/16"), nodes=IPv4Network("10.0.0.0/16")
)


def addressing(supernet: str, **fields: Any) -> Addressing:
    return Addressing(supernet=IPv4Network(supernet), **fields)


def planned(wish: Addressing, *, nodes: int, rails: int = RAILS, ranges: AddressRanges = STATED) -> AddressPlan:
    plan, findings = plan_addresses(wish, ranges, rails=rails, vfs_per_nic=1, nodes=nodes)
    assert plan is not None, findings
    return plan


def refused(wish: Addressing, *, nodes: int, rails: int = RAILS) -> Finding:
    plan, findings = plan_addresses(wish, STATED, rails=rails, vfs_per_nic=1, nodes=nodes)
    assert plan is None
    (only,) = [entry for entry in findings if entry.id == "ADR001"]
    return only


def fits(wish: Addressing, *, nodes: int, rails: int) -> bool:
    return plan_addresses(wish, STATED, rails=rails, vfs_per_nic=1, nodes=nodes)[0] is not None


def ids(findings: Sequence[Finding]) -> list[str]:
    return [entry.id for entry in findings]


supernet_prefixes = st.integers(8, 30)
layouts = st.sampled_from(["flat", "per-rail"])
gateways = st.sampled_from(["none", "first", "last"])
rail_counts = st.sampled_from([1, 2, 5, 8, 12, 16])


@given(prefix=st.integers(12, 24), layout=layouts, rails=rail_counts)
@settings(max_examples=40, deadline=None)
def test_subnets_are_aligned_disjoint_and_inside_the_supernet(prefix: int, layout: Any, rails: int) -> None:
    plan = planned(addressing(f"172.16.0.0/{prefix}", layout=layout), nodes=1, rails=rails)

    subnets = [pool.subnet for pool in plan.pools]
    assert all(subnet.subnet_of(plan.supernet) for subnet in subnets)
    assert all(int(subnet.network_address) % subnet.num_addresses == 0 for subnet in subnets)
    for first, second in pairwise(subnets):
        assert first.broadcast_address < second.network_address
    assert [rail for pool in plan.pools for rail in pool.rails] == list(range(rails))


@given(nodes=st.integers(1, 200), more=st.integers(0, 3000), layout=layouts, gateway=gateways)
@settings(max_examples=40, deadline=None)
def test_adding_nodes_moves_no_address(nodes: int, more: int, layout: Any, gateway: Any) -> None:
    wish = addressing("10.128.0.0/12", layout=layout, gateway=gateway)

    before, after = planned(wish, nodes=nodes), planned(wish, nodes=nodes + more)

    def placed(plan: AddressPlan) -> list[Any]:
        return [(pool.name, pool.subnet, pool.gateway, pool.addresses_per_node, pool.rails) for pool in plan.pools]

    assert placed(before) == placed(after)


@given(
    prefix=supernet_prefixes,
    nodes=st.integers(1, 8192),
    spare=st.integers(0, 64),
    layout=layouts,
    rails=rail_counts,
    gateway=gateways,
)
@settings(max_examples=80, deadline=None)
def test_the_supernet_a_refusal_asks_for_fits_and_half_of_it_does_not(
    prefix: int, nodes: int, spare: int, layout: Any, rails: int, gateway: Any
) -> None:
    def of(length: int) -> Addressing:
        return addressing(f"0.0.0.0/{length}", layout=layout, gateway=gateway, spare_nodes=spare)

    assume(not fits(of(prefix), nodes=nodes, rails=rails))
    found = refused(of(prefix), nodes=nodes, rails=rails)

    match = re.search(r"a supernet of /(\d+) or larger", found.remedy)
    assert match, found.remedy
    asked = int(match[1])
    assert fits(of(asked), nodes=nodes, rails=rails)
    assert not fits(of(asked + 1), nodes=nodes, rails=rails)


@given(pinned=st.integers(16, 30), nodes=st.integers(1, 4000), rails=rail_counts)
@settings(max_examples=80, deadline=None)
def test_the_prefix_length_a_refusal_asks_for_fits_within_the_supernet_it_asks_for(
    pinned: int, nodes: int, rails: int
) -> None:
    wish = addressing("10.0.0.0/14", prefix_length=pinned)
    assume(not fits(wish, nodes=nodes, rails=rails))
    found = refused(wish, nodes=nodes, rails=rails)

    match = re.search(r"a prefixLength of (\d+) within a supernet of /(\d+) or larger", found.remedy)
    assert match, found.remedy
    length, supernet = int(match[1]), int(match[2])
    assert fits(addressing(f"0.0.0.0/{supernet}", prefix_length=length), nodes=nodes, rails=rails)
    if length < 30:
        assert not fits(addressing(f"0.0.0.0/{supernet}", prefix_length=length + 1), nodes=nodes, rails=rails)
    assert not fits(addressing(f"0.0.0.0/{supernet + 1}", prefix_length=length), nodes=nodes, rails=rails)


@given(prefix=st.integers(12, 24), layout=layouts, gateway=gateways, rails=rail_counts)
@settings(max_examples=40, deadline=None)
def test_a_plan_serves_exactly_as_many_nodes_as_it_claims(prefix: int, layout: Any, gateway: Any, rails: int) -> None:
    wish = addressing(f"172.16.0.0/{prefix}", layout=layout, gateway=gateway)
    assume(fits(wish, nodes=1, rails=rails))
    most = planned(wish, nodes=1, rails=rails).proof.max_nodes

    assert fits(wish, nodes=most, rails=rails)
    assert not fits(wish, nodes=most + 1, rails=rails)


@given(prefix=st.integers(14, 26), layout=layouts, rails=rail_counts)
@settings(max_examples=40, deadline=None)
def test_the_next_supernet_of_a_proof_serves_more_nodes_and_is_the_smallest_that_does(
    prefix: int, layout: Any, rails: int
) -> None:
    wish = addressing(f"0.0.0.0/{prefix}", layout=layout)
    assume(fits(wish, nodes=1, rails=rails))
    proof = planned(wish, nodes=1, rails=rails).proof
    following = int(proof.next_supernet.removeprefix("/"))

    assert fits(addressing(f"0.0.0.0/{following}", layout=layout), nodes=proof.max_nodes + 1, rails=rails)
    assert following == prefix - 1


def test_the_next_step_of_a_pinned_prefix_length_is_a_larger_subnet() -> None:
    proof = planned(addressing("10.64.0.0/12", prefix_length=24), nodes=3).proof

    assert (proof.max_nodes, proof.next_subnet, proof.next_supernet) == (254, "/23", "/19")


def test_capacity_counts_are_those_of_the_subnet() -> None:
    pool = planned(addressing("192.168.0.0/16", spare_nodes=2), nodes=3).pools[0]

    assert (pool.subnet, pool.usable, pool.needed, pool.headroom, pool.max_nodes) == (
        IPv4Network("192.168.0.0/20"),
        4094,
        5,
        4089,
        4094,
    )


def test_rails_take_the_supernets_parts_in_order() -> None:
    plan = planned(addressing("192.168.0.0/16"), nodes=3)

    assert [str(pool.subnet) for pool in plan.pools] == [f"192.168.{16 * rail}.0/20" for rail in range(RAILS)]


def test_twelve_rails_are_cut_as_sixteen_and_leave_four_parts_free() -> None:
    plan = planned(addressing("192.168.0.0/16"), nodes=3, rails=12)

    assert len(plan.pools) == 12
    assert {pool.subnet.prefixlen for pool in plan.pools} == {20}


def test_the_flat_layout_reproduces_the_single_pool_of_the_oke_guide() -> None:
    plan, findings = plan_addresses(
        addressing("192.168.0.0/16", layout="flat", addresses_per_node=100, gateway="first"),
        STATED,
        rails=RAILS,
        vfs_per_nic=1,
        nodes=3,
    )

    assert plan is not None
    (pool,) = plan.pools
    assert (str(pool.subnet), pool.addresses_per_node, str(pool.gateway)) == ("192.168.0.0/16", 100, "192.168.0.1")
    assert pool.max_nodes == 655
    assert findings == ()


def test_the_flat_layout_gives_a_node_an_address_per_rail() -> None:
    plan = planned(addressing("192.168.0.0/16", layout="flat"), nodes=3)

    assert (plan.pools[0].addresses_per_node, plan.proof.needed_per_node) == (16, 16)
    assert plan.pools[0].rails == tuple(range(RAILS))


def test_an_explicit_prefix_length_is_what_every_rail_gets() -> None:
    plan = planned(addressing("10.0.0.0/8", prefix_length=24), nodes=200)

    assert [str(pool.subnet) for pool in plan.pools[:2]] == ["10.0.0.0/24", "10.0.1.0/24"]
    assert plan.proof.max_nodes == 254


def test_a_prefix_length_too_long_for_the_nodes_is_refused_with_numbers() -> None:
    found = refused(addressing("10.0.0.0/8", prefix_length=30), nodes=3)

    assert found.message == "3 nodes x 1 addresses = 3 per pool, but 10.0.0.0/30 has 2 usable and so serves 2 nodes"
    assert found.remedy == "use a prefixLength of 29 within a supernet of /25 or larger"


def test_a_prefix_length_shorter_than_the_supernets_cannot_be_cut() -> None:
    found = refused(addressing("10.0.0.0/20", prefix_length=16), nodes=3)

    assert found.message == "10.0.0.0/20 cannot be cut into 16 subnets of /16"


def test_a_supernet_with_fewer_parts_than_rails_is_refused() -> None:
    found = refused(addressing("10.0.0.0/22", prefix_length=24), nodes=3)

    assert found.message == "10.0.0.0/22 cannot be cut into 16 subnets of /24"


def test_a_refusal_names_nodes_addresses_and_what_the_subnet_serves() -> None:
    found = refused(addressing("192.168.0.0/24", gateway="first", spare_nodes=8), nodes=120)

    assert found.path == "gpu-fabric:fabric.addressing.supernet"
    assert found.message == (
        "128 nodes (8 of them spare) x 2 addresses = 256 per pool, but 192.168.0.0/28 has 14 usable "
        "and so serves 7 nodes"
    )
    assert found.remedy == "use a supernet of /19 or larger"


@pytest.mark.parametrize(("nodes", "supernet"), [(14, 24), (15, 23), (30, 23), (31, 22), (2, 26), (3, 25)])
def test_a_remedy_counts_to_a_subnets_very_last_address(nodes: int, supernet: int) -> None:
    assert refused(addressing("192.168.0.0/32"), nodes=nodes).remedy == f"use a supernet of /{supernet} or larger"


def test_spare_nodes_count_like_nodes() -> None:
    wish = addressing("192.168.0.0/24", spare_nodes=12)

    assert fits(wish, nodes=2, rails=RAILS)
    assert not fits(wish, nodes=3, rails=RAILS)


def test_a_large_block_that_could_be_smaller_is_named_as_a_remedy() -> None:
    found = refused(addressing("192.168.0.0/16", addresses_per_node=100), nodes=50)

    assert found.remedy == "use a supernet of /15 or larger, or addressesPerNode of at most 81"


def test_a_block_larger_than_any_supernet_is_answered_without_an_impossible_prefix() -> None:
    found = refused(addressing("192.168.0.0/16", addresses_per_node=2**30), nodes=1000)

    assert found.remedy == "use addressesPerNode of at most 4"


@pytest.mark.parametrize("supernet", ["192.168.0.0/27", "192.168.0.0/28", "192.168.0.0/29", "192.168.0.0/32"])
def test_rails_of_thirty_one_bits_or_more_are_never_planned(supernet: str) -> None:
    found = refused(addressing(supernet), nodes=1)

    assert found.message == f"{supernet} cannot be cut into 16 subnets of /30 or larger"
    assert found.remedy == "use a supernet of /26 or larger"


def test_the_smallest_rail_has_two_addresses() -> None:
    plan = planned(addressing("192.168.0.0/26"), nodes=2)

    assert (str(plan.pools[-1].subnet), plan.proof.max_nodes) == ("192.168.0.60/30", 2)


@pytest.mark.parametrize(
    ("gateway", "first", "last"),
    [
        ("none", None, None),
        ("first", "192.168.0.1", "192.168.240.1"),
        ("last", "192.168.15.254", "192.168.255.254"),
    ],
)
def test_a_gateway_is_the_first_or_last_host_of_each_subnet(gateway: Any, first: str | None, last: str | None) -> None:
    plan = planned(addressing("192.168.0.0/16", gateway=gateway), nodes=3)

    assert [plan.pools[0].gateway, plan.pools[-1].gateway] == [IPv4Address(at) if at else None for at in (first, last)]


def test_with_a_gateway_every_block_has_an_address_to_lose() -> None:
    plan, findings = plan_addresses(
        addressing("192.168.0.0/16", gateway="first"), STATED, rails=RAILS, vfs_per_nic=1, nodes=3
    )

    assert plan is not None
    assert plan.pools[0].addresses_per_node == 2
    assert findings == ()


def test_a_gateway_in_a_block_without_spare_address_is_an_error() -> None:
    wish = addressing("192.168.0.0/16", layout="flat", gateway="first", addresses_per_node=16)
    _, findings = plan_addresses(wish, STATED, rails=RAILS, vfs_per_nic=1, nodes=3)

    (found,) = findings
    assert (found.id, found.path) == ("ADR004", "gpu-fabric:fabric.addressing.addressesPerNode")
    assert "192.168.0.1" in found.message
    assert "15 of the 16" in found.message
    assert found.remedy.startswith("write 17 or more")


def test_a_gateway_beyond_the_last_block_takes_nobodys_address() -> None:
    # 65534 usable addresses are 4095 blocks of 16 and 14 addresses in none of them, the last host among these.
    wish = addressing("192.168.0.0/16", layout="flat", gateway="last", addresses_per_node=16)
    _, findings = plan_addresses(wish, STATED, rails=RAILS, vfs_per_nic=1, nodes=3)

    assert findings == ()


def test_a_block_smaller_than_a_nodes_need_is_an_error() -> None:
    _, findings = plan_addresses(
        addressing("192.168.0.0/16", layout="flat", addresses_per_node=8), STATED, rails=RAILS, vfs_per_nic=1, nodes=3
    )

    (found,) = findings
    assert (found.id, found.path) == ("ADR001", "gpu-fabric:fabric.addressing.addressesPerNode")
    assert found.message == "a node takes 16 addresses from each pool, 8 are too few"
    assert found.remedy.startswith("write 16 or more")


def test_two_virtual_functions_a_nic_take_two_addresses_a_rail() -> None:
    plan, _ = plan_addresses(addressing("192.168.0.0/16"), STATED, rails=RAILS, vfs_per_nic=2, nodes=3)

    assert plan is not None
    assert plan.pools[0].addresses_per_node == 2


@pytest.mark.parametrize("supernet", ["10.244.128.0/17", "10.0.0.0/8", "10.96.0.0/16"])
def test_a_supernet_that_overlaps_the_clusters_own_ranges_is_an_error(supernet: str) -> None:
    _, findings = plan_addresses(addressing(supernet), STATED, rails=RAILS, vfs_per_nic=1, nodes=3)

    assert set(ids(findings)) == {"ADR002"}
    assert findings[0].message.startswith(f"{supernet} overlaps 10.")


def test_a_reserved_range_that_overlaps_is_named_by_its_place() -> None:
    ranges = STATED.model_copy(update={"reserved": (IPv4Network("172.16.0.0/12"), IPv4Network("192.168.64.0/20"))})
    _, findings = plan_addresses(addressing("192.168.0.0/16"), ranges, rails=RAILS, vfs_per_nic=1, nodes=3)

    (found,) = findings
    assert found.message == "192.168.0.0/16 overlaps 192.168.64.0/20, the cluster's reserved[1] range"


def test_ranges_that_are_not_stated_are_a_warning_and_part_of_the_proof() -> None:
    plan, findings = plan_addresses(addressing("192.168.0.0/16"), NO_RANGES, rails=RAILS, vfs_per_nic=1, nodes=3)

    assert plan is not None
    assert ids(findings) == ["ADR003"]
    assert plan.proof.not_stated == ("pods", "services", "nodes")
    assert plan.proof.disjoint_from == ()


def test_a_proof_lists_what_the_fabric_is_disjoint_from() -> None:
    proof = planned(addressing("192.168.0.0/16"), nodes=3).proof

    assert {entry.name: str(entry.range) for entry in proof.disjoint_from} == {
        "pods": "10.244.0.0/16",
        "services": "10.96.0.0/16",
        "nodes": "10.0.0.0/16",
    }
    assert (proof.nodes, proof.spare_nodes) == (3, 0)


def test_text_order_of_pool_names_is_rail_order() -> None:
    names = [pool.name for pool in planned(addressing("192.168.0.0/16"), nodes=3).pools]

    assert names == sorted(names)
    assert len(names) == RAILS
