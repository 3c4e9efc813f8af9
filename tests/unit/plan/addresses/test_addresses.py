"""The address plan by example: who gets which addresses."""

from __future__ import annotations

import pytest
from planned_addresses import Json, answer, pinned_27, planned, refused

from gpu_fabric.plan.addresses import AddressPlan


@pytest.mark.parametrize(
    ("node", "rail", "prefix"),
    [(1, 1, "172.17.0.0/27"), (8, 1, "172.17.0.224/27"), (1, 8, "172.17.7.0/27"), (8, 8, "172.17.7.224/27")],
)
def test_the_spiderpool_guides_prefixes_come_out(node: int, rail: int, prefix: str) -> None:
    assert pinned_27().pools[rail - 1].shares[node - 1] == prefix


def test_a_prefix_of_27_has_28_addresses_for_pods_beside_gateway_and_host() -> None:
    plan = pinned_27()
    pool = plan.pools[0]

    assert sum(len(entry.shares) for entry in plan.pools) == 64
    assert (pool.addresses_per_node, str(pool.gateway_of(1)), str(plan.nic_address(1, 0))) == (
        28,
        "172.17.0.33",
        "172.17.0.35",
    )


def test_the_oke_guides_one_pool_serves_655_nodes_with_blocks_of_100() -> None:
    section = {"supernet": "192.168.0.0/16", "addressesPerNode": 100, "gateway": "first"}
    (pool,) = planned(section, layout="flat", rails=16, nodes=4).pools

    assert (pool.name, str(pool.subnet), str(pool.gateway), pool.max_nodes) == (
        "rdma-fabric",
        "192.168.0.0/16",
        "192.168.0.1",
        655,
    )
    assert pool.shares[:2] == ("192.168.0.2-192.168.0.100", "192.168.0.101-192.168.0.200")


def test_a_21_for_2048_hosts_on_one_rail_is_three_addresses_short() -> None:
    section = {"supernet": "10.0.0.0/21", "railSlots": 1, "gateway": "first"}
    refusal = refused(section, rails=1, nodes=2048, ipam="spiderpool")

    assert refusal.message == (
        "2048 nodes x 1 address = 2048 per pool, but 10.0.0.0/21 has 2045 usable (less gateway 10.0.0.1) and so serves "
        "2045 nodes: 3 addresses short"
    )
    assert refusal.remedy == "use a supernet of /20 or larger"


def test_in_ipv6_every_node_and_rail_has_a_64() -> None:
    plan = planned({"supernet": "fd00:10::/48"}, layout="per-node")

    assert (plan.pools[0].shares[:2], plan.pools[7].shares[7]) == (
        ("fd00:10::/64", "fd00:10:0:1::/64"),
        "fd00:10:0:7007::/64",
    )
    assert plan.proof.growth.max_nodes == 4096


@pytest.mark.parametrize(
    ("section", "pods", "length"),
    [
        ({}, 2, 31),
        ({"gateway": "first"}, 1, 31),
        ({"gateway": "first"}, 2, 29),
        ({"gateway": "last"}, 2, 29),
        ({"gateway": "first", "reservedFirst": 1}, 1, 31),
        ({"addressesPerNode": 6}, 1, 29),
        ({"addressesPerNode": 7}, 1, 28),
    ],
)
def test_a_nodes_prefix_is_the_longest_that_holds_its_pods_and_the_gateway(
    section: Json, pods: int, length: int
) -> None:
    plan = planned({"supernet": "10.0.0.0/16", **section}, layout="per-node", addresses_per_nic=pods)

    assert plan.pools[0].shares[0] == f"10.0.0.0/{length}"


def test_a_node_can_have_a_32_to_itself() -> None:
    section = {"supernet": "10.0.0.0/28", "railSlots": 8, "nodePrefixLength": 32}

    assert planned(section, layout="per-node", nodes=2).pools[7].shares == ("10.0.0.14/32", "10.0.0.15/32")


def test_a_127_has_one_address_beside_the_gateway() -> None:
    section = {"supernet": "fd00:10::/112", "nodePrefixLength": 127, "gateway": "first"}
    plan = planned(section, layout="per-node")
    pool = plan.pools[0]

    assert (pool.shares[1], str(pool.gateway_of(1)), str(plan.nic_address(1, 0))) == (
        "fd00:10::2/127",
        "fd00:10::2",
        "fd00:10::3",
    )


def test_spiderpools_flat_rails_share_a_subnet_and_its_gateway_but_no_address() -> None:
    plan = planned({"supernet": "172.17.0.0/16", "gateway": "first"}, layout="flat", ipam="spiderpool")

    assert {str(pool.subnet) for pool in plan.pools} == {"172.17.0.0/16"}
    assert {str(pool.gateway) for pool in plan.pools} == {"172.17.0.1"}
    assert [pool.shares[0] for pool in plan.pools][:3] == ["172.17.0.2", "172.17.16.1", "172.17.32.1"]


def test_a_flat_nodes_block_has_room_for_every_rail_slot() -> None:
    eight, sixteen = (planned({"supernet": "10.0.0.0/16"}, layout="flat", rails=rails) for rails in (8, 16))

    assert eight.pools[0].shares[1] == sixteen.pools[0].shares[1] == "10.0.0.17-10.0.0.32"
    assert str(eight.nic_address(1, 7)) == str(sixteen.nic_address(1, 7)) == "10.0.0.24"


def test_the_smallest_block_of_nv_ipam_binds_no_other_ipam() -> None:
    section = {"supernet": "10.0.0.0/16", "addressesPerNode": 1}

    assert planned(section, ipam="whereabouts", smallest_block=2).pools[0].shares[1] == "10.0.0.2"


def test_what_is_excluded_is_passed_over_where_nodes_take_addresses_in_order() -> None:
    section = {"supernet": "10.0.0.0/20", "exclude": ["10.0.0.3-10.0.0.9", "10.0.0.5"]}

    assert planned(section, ipam="spiderpool").pools[0].shares[:3] == ("10.0.0.1", "10.0.0.2", "10.0.0.10")


def test_the_layout_none_has_no_pools_and_no_room_to_run_out_of() -> None:
    plan = answer({}, {"layout": "none", "ipam": "host"})

    assert isinstance(plan, AddressPlan)
    assert (plan.pools, plan.ipam, plan.supernet, plan.nic_address(0, 0)) == ((), None, None, None)
    assert plan.proof.needed_per_node == 0
