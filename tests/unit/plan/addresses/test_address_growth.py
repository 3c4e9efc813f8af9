"""How far an address plan grows, what ends it, and what the proof says about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from planned_addresses import Json, planned
from stack_plans import stack_plan

from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, plan_addresses
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec


def test_growth_is_counted_in_steps() -> None:
    growth = planned({"supernet": "10.0.0.0/20", "growthStep": 32}, nodes=16).proof.growth

    assert (growth.steps, growth.max_nodes, growth.ends_at) == (7, 254, "the addresses of rail-00")
    assert (growth.next_subnet, growth.next_supernet) == ("/23", "/19")


@pytest.mark.parametrize(
    ("section", "layout", "subnet", "supernet"),
    [
        ({"supernet": "10.0.0.0/20"}, "flat", "/19", "/19"),
        ({"supernet": "10.0.0.0/16", "prefixLength": 24}, "per-rail", "/23", "/20"),
        ({"supernet": "10.0.0.0/9"}, "per-rail", "/12", "/8"),
    ],
)
def test_the_next_supernet_holds_the_next_subnet_once_for_every_rail_that_has_one(
    section: Json, layout: str, subnet: str, supernet: str
) -> None:
    growth = planned(section, layout=layout).proof.growth

    assert (growth.next_subnet, growth.next_supernet) == (subnet, supernet)


def test_a_node_that_an_exclusion_starves_ends_growth_before_the_subnet_does() -> None:
    growth = planned({"supernet": "10.0.0.0/20", "exclude": ["10.0.0.100"]}).proof.growth

    assert (growth.max_nodes, growth.steps) == (99, 91)


def test_a_reserved_end_that_covers_several_nodes_blocks_ends_growth_at_the_first_of_them() -> None:
    section = {"supernet": "10.0.0.0/28", "railSlots": 1, "addressesPerNode": 2, "reservedLast": 5}

    assert planned(section, rails=1, nodes=1).proof.growth.max_nodes == 5


def test_the_proof_names_every_range_that_it_was_held_against_and_those_that_it_was_not() -> None:
    ranges = AddressRangesSpec.model_validate(
        {"pods": "10.1.0.0/16", "nodes": "10.2.0.0/16", "reserved": ["10.3.0.0/16"]}
    )
    demand = AddressDemand(layout="flat", ipam="nv-ipam", rails=8, addresses_per_nic=1, nodes=8)
    plan = plan_addresses(AddressingSpec.model_validate({"supernet": "192.168.0.0/16"}), ranges, demand)

    assert isinstance(plan, AddressPlan)
    assert {entry.name: str(entry.range) for entry in plan.proof.disjoint_from} == {
        "pods": "10.1.0.0/16",
        "nodes": "10.2.0.0/16",
        "reserved[0]": "10.3.0.0/16",
    }
    assert plan.proof.not_stated == ("services",)


def test_pods_with_addresses_of_the_vcn_need_no_range_of_their_own(root: Path) -> None:
    addresses = stack_plan("oke-h200", root).addresses

    assert addresses is not None
    assert addresses.proof.not_stated == ()
    assert [entry.name for entry in addresses.proof.disjoint_from] == ["services", "nodes"]


def test_no_larger_supernet_is_named_than_there_are() -> None:
    growth = planned({"supernet": "10.0.0.0/8"}).proof.growth

    assert (growth.next_subnet, growth.next_supernet) == ("/11", "")


def test_spiderpools_5000_addresses_a_pool_end_growth_before_the_subnet_does() -> None:
    proof = planned({"supernet": "10.0.0.0/8"}, ipam="spiderpool", addresses_per_nic=4, nodes=1024).proof

    (limit,) = proof.limits
    assert (limit.value, limit.limit, limit.nodes) == (4096, 5000, 1250)
    assert (proof.growth.max_nodes, proof.growth.ends_at) == (1250, limit.name)


@pytest.mark.parametrize(("names", "nodes"), [((), 15728), (tuple(f"gpu-{node}" for node in range(8)), 7864)])
def test_a_pool_object_of_nv_ipam_holds_so_many_nodes(names: tuple[str, ...], nodes: int) -> None:
    proof = planned({"supernet": "10.0.0.0/8"}, layout="per-node", node_names=names).proof

    assert [(limit.name, limit.limit, limit.nodes) for limit in proof.limits] == [
        ("the size of one pool object", 1_572_864, nodes)
    ]
    assert proof.growth.max_nodes == nodes


@pytest.mark.parametrize("rails", [1, 8, 16])
def test_the_pools_of_every_node_end_growth_at_a_number_that_is_said_to_be_no_tested_one(rails: int) -> None:
    most = 65_536 // rails
    plan = planned(
        {"supernet": "10.0.0.0/8", "node_prefix_length": 31}, layout="per-node", ipam="spiderpool", rails=rails, nodes=8
    )
    (limit,) = plan.proof.limits

    assert (limit.value, limit.limit, limit.nodes) == (8 * rails, 65_536, most)
    assert limit.source.startswith("our own bound")
    assert plan.proof.growth.max_nodes == most
