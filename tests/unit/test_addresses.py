"""The address plan by example: who gets which addresses, how far it grows, and what is said when it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from address_checker import faults

from fabric.plan import Plan
from fabric.plan.addresses import AddressDemand, AddressPlan, Refusal, plan_addresses
from fabric.rules import ConfigurationError, Finding
from fabric.spec import Addressing, AddressRanges

Json = dict[str, Any]
PlanWith = Callable[[Any], Plan]


def answer(section: Json, demand: Json) -> AddressPlan | Refusal:
    """What the planner says to a section `addressing` for 8 rails and one pod a NIC, unless `demand` says otherwise."""
    given = {"layout": "per-rail", "ipam": "nv-ipam", "rails": 8, "addresses_per_nic": 1, "nodes": 8, **demand}
    return plan_addresses(Addressing.model_validate(section), AddressRanges(), AddressDemand(**given))


def planned(section: Json, **demand: Any) -> AddressPlan:
    plan = answer(section, demand)
    assert isinstance(plan, AddressPlan), plan
    plan = plan.with_shares()
    document = plan.model_dump(mode="json", by_alias=True)
    assert faults(document, section, {}, demand.get("nodes", 8), demand.get("rails", 8)) == []
    return plan


def refused(section: Json, **demand: Any) -> Refusal:
    refusal = answer(section, demand)
    assert isinstance(refusal, Refusal)
    return refusal


def pinned_27(nodes: int = 8) -> AddressPlan:
    """The plan of the Spiderpool guide: a /27 for every node and rail in 172.17.0.0/21."""
    section = {
        "supernet": "172.17.0.0/21",
        "prefixLength": 24,
        "nodePrefixLength": 27,
        "gateway": "first",
        "reservedFirst": 2,
    }
    return planned(section, layout="per-node", ipam="spiderpool", addresses_per_nic=28, nodes=nodes)


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


def test_a_17_holds_a_31_for_each_of_2048_nodes_and_8_rails_and_nothing_more() -> None:
    section = {"supernet": "10.0.0.0/17", "railSlots": 8, "nodePrefixLength": 31}
    plan = planned(section, layout="per-node", nodes=2048)

    assert plan.pools[7].shares[2047] == "10.0.127.254/31"
    assert [(pool.headroom, pool.max_nodes) for pool in plan.pools] == [(0, 2048)] * 8
    assert (plan.proof.growth.steps, plan.proof.growth.next_supernet) == (0, "/16")


def test_a_21_for_2048_hosts_on_one_rail_is_three_addresses_short() -> None:
    section = {"supernet": "10.0.0.0/21", "railSlots": 1, "gateway": "first"}
    refusal = refused(section, rails=1, nodes=2048, ipam="spiderpool")

    assert refusal.message == (
        "2048 nodes x 1 address = 2048 per pool, but 10.0.0.0/21 has 2045 usable (less gateway 10.0.0.1) and so serves "
        "2045 nodes: 3 addresses short"
    )
    assert refusal.remedy == "use a supernet of /20 or larger"


def test_one_address_a_nic_for_128_nodes_and_8_rails_lies_in_eight_24s() -> None:
    plan = planned({"supernet": "10.0.0.0/21", "railSlots": 8}, nodes=128)

    assert [str(pool.space) for pool in plan.pools] == [f"10.0.{rail}.0/24" for rail in range(8)]
    assert (plan.pools[7].shares[127], plan.pools[0].usable, plan.pools[0].headroom) == ("10.0.7.128", 254, 126)


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


def test_in_ipv6_a_rail_of_64_is_cut_into_the_longest_prefixes() -> None:
    plan = planned({"supernet": "fd00:10::/60"}, layout="per-node", rails=1)

    assert (str(plan.pools[0].space), plan.pools[0].shares[0]) == ("fd00:10::/64", "fd00:10::/127")


def test_a_127_has_one_address_beside_the_gateway() -> None:
    section = {"supernet": "fd00:10::/112", "nodePrefixLength": 127, "gateway": "first"}
    plan = planned(section, layout="per-node")
    pool = plan.pools[0]

    assert (pool.shares[1], str(pool.gateway_of(1)), str(plan.nic_address(1, 0))) == (
        "fd00:10::2/127",
        "fd00:10::2",
        "fd00:10::3",
    )


def test_twelve_rails_leave_four_of_sixteen_slots_free() -> None:
    plan = planned({"supernet": "192.168.0.0/16"}, rails=12)

    assert [str(pool.space) for pool in plan.pools][::11] == ["192.168.0.0/20", "192.168.176.0/20"]


def test_spiderpools_flat_rails_share_a_subnet_and_its_gateway_but_no_address() -> None:
    plan = planned({"supernet": "172.17.0.0/16", "gateway": "first"}, layout="flat", ipam="spiderpool")

    assert {str(pool.subnet) for pool in plan.pools} == {"172.17.0.0/16"}
    assert {str(pool.gateway) for pool in plan.pools} == {"172.17.0.1"}
    assert [pool.shares[0] for pool in plan.pools][:3] == ["172.17.0.2", "172.17.16.1", "172.17.32.1"]


def test_a_flat_nodes_block_has_room_for_every_rail_slot() -> None:
    eight, sixteen = (planned({"supernet": "10.0.0.0/16"}, layout="flat", rails=rails) for rails in (8, 16))

    assert eight.pools[0].shares[1] == sixteen.pools[0].shares[1] == "10.0.0.17-10.0.0.32"
    assert str(eight.nic_address(1, 7)) == str(sixteen.nic_address(1, 7)) == "10.0.0.24"


def test_in_a_flat_nodes_block_a_nics_pods_come_after_those_of_the_nic_before() -> None:
    plan = planned({"supernet": "10.0.0.0/16"}, layout="flat", addresses_per_nic=4)

    assert [str(plan.nic_address(0, rail)) for rail in range(3)] == ["10.0.0.1", "10.0.0.5", "10.0.0.9"]


def test_text_order_of_pool_names_is_rail_order() -> None:
    names = [pool.name for pool in planned({"supernet": "10.0.0.0/12"}, rails=16).pools]

    assert names == sorted(names)


def test_the_smallest_block_of_nv_ipam_binds_no_other_ipam() -> None:
    section = {"supernet": "10.0.0.0/16", "addressesPerNode": 1}

    assert planned(section, ipam="whereabouts", smallest_block=2).pools[0].shares[1] == "10.0.0.2"


def test_what_is_excluded_is_passed_over_where_nodes_take_addresses_in_order() -> None:
    section = {"supernet": "10.0.0.0/20", "exclude": ["10.0.0.3-10.0.0.9", "10.0.0.5"]}

    assert planned(section, ipam="spiderpool").pools[0].shares[:3] == ("10.0.0.1", "10.0.0.2", "10.0.0.10")


def test_spare_and_surge_nodes_count_but_get_no_share() -> None:
    plan = planned({"supernet": "10.0.0.0/20", "spareNodes": 4, "surgeNodes": 2}, nodes=10)
    pool = plan.pools[0]

    assert (len(pool.shares), pool.needed, pool.headroom, plan.proof.wanted) == (10, 16, 238, 16)


def test_the_layout_none_has_no_pools_and_no_room_to_run_out_of() -> None:
    plan = answer({}, {"layout": "none", "ipam": "host"})

    assert isinstance(plan, AddressPlan)
    assert (plan.pools, plan.ipam, plan.supernet, plan.nic_address(0, 0)) == ((), None, None, None)
    assert plan.proof.needed_per_node == 0


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


def test_beyond_a_limit_no_step_is_left() -> None:
    plan = answer({"supernet": "10.0.0.0/8"}, {"ipam": "spiderpool", "nodes": 6000})

    assert isinstance(plan, AddressPlan)
    assert plan.proof.growth.steps == 0


def test_the_proof_names_every_range_that_it_was_held_against_and_those_that_it_was_not() -> None:
    ranges = AddressRanges.model_validate({"pods": "10.1.0.0/16", "nodes": "10.2.0.0/16", "reserved": ["10.3.0.0/16"]})
    demand = AddressDemand(layout="flat", ipam="nv-ipam", rails=8, addresses_per_nic=1, nodes=8)
    plan = plan_addresses(Addressing.model_validate({"supernet": "192.168.0.0/16"}), ranges, demand)

    assert isinstance(plan, AddressPlan)
    assert {entry.name: str(entry.range) for entry in plan.proof.disjoint_from} == {
        "pods": "10.1.0.0/16",
        "nodes": "10.2.0.0/16",
        "reserved[0]": "10.3.0.0/16",
    }
    assert plan.proof.not_stated == ("services",)


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


@pytest.mark.parametrize(
    ("layout", "ipam", "nodes"),
    [("per-rail", "nv-ipam", [15728]), ("per-node", "spiderpool", []), ("per-rail", "whereabouts", [])],
)
def test_what_no_object_holds_for_every_node_sets_no_limit(layout: str, ipam: str, nodes: list[int]) -> None:
    names = tuple(f"gpu-{node}" for node in range(8))
    proof = planned({"supernet": "10.0.0.0/8"}, layout=layout, ipam=ipam, node_names=names).proof

    assert [limit.nodes for limit in proof.limits] == nodes


# What a user gets wrong: the section, what the planner says, and what it proposes.
MISTAKES: list[tuple[Json, Json, str, str, str]] = [
    (
        {"supernet": "10.0.0.0/17", "railSlots": 8, "nodePrefixLength": 31},
        {"layout": "per-node", "nodes": 2049},
        "supernet",
        "2049 nodes take a /31 each, but 10.0.0.0/20 is cut into 2048: 1 short",
        "use a supernet of /16 or larger",
    ),
    (
        {"supernet": "192.168.0.0/24", "gateway": "first", "spareNodes": 8},
        {"rails": 16, "nodes": 120},
        "supernet",
        "128 nodes x 2 addresses = 256 per pool, but 192.168.0.0/28 has 13 usable (less gateway 192.168.0.1) and so "
        "serves 7 nodes: 243 addresses short",
        "use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/20"},
        {"nodes": 300},
        "supernet",
        "300 nodes x 1 address = 300 per pool, but 10.0.0.0/24 has 254 usable and so serves 254 nodes: 46 addresses "
        "short",
        "write railSlots: 8 (it cuts anew, which moves addresses), or use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/8", "prefixLength": 30},
        {"rails": 16, "nodes": 3},
        "supernet",
        "3 nodes x 1 address = 3 per pool, but 10.0.0.0/30 has 2 usable and so serves 2 nodes: 1 address short",
        "write prefixLength: 29",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 100, "gateway": "first", "spareNodes": 1},
        {"layout": "flat", "rails": 16, "nodes": 655},
        "supernet",
        "656 nodes x 100 addresses = 65600 per pool, but 192.168.0.0/16 has 65533 usable (less gateway 192.168.0.1) "
        "and so serves 655 nodes: 67 addresses short",
        "write spareNodes: 0, or write addressesPerNode: 99, or leave addressesPerNode out, or use a supernet of /15 "
        "or larger",
    ),
    (
        {"supernet": "10.0.0.0/20", "prefixLength": 16},
        {},
        "prefixLength",
        "subnets of /16 are larger than the supernet 10.0.0.0/20",
        "write prefixLength: 23, or leave prefixLength out, or use a supernet of /13 or larger",
    ),
    (
        {"supernet": "10.0.0.0/22", "railSlots": 8},
        {"rails": 16},
        "railSlots",
        "10.0.0.0/22 holds 8 subnets of /25, but there are 16 rails",
        "write railSlots: 16 (it cuts anew, which moves addresses)",
    ),
    (
        {"supernet": "10.0.0.0/16", "railSlots": 8},
        {"layout": "flat", "rails": 16},
        "railSlots",
        "a node's share has room for 8 rails, but there are 16",
        "write railSlots: 16 (it cuts anew, which moves addresses)",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 8},
        {"layout": "flat", "rails": 16},
        "addressesPerNode",
        "a node takes 16 addresses from each pool, 8 are too few",
        "write addressesPerNode: 16, or leave addressesPerNode out",
    ),
    (
        {"supernet": "192.168.0.0/16", "addressesPerNode": 16, "gateway": "first"},
        {"layout": "flat", "rails": 16},
        "addressesPerNode",
        "gateway 192.168.0.1 lies in one node's block of 16, which then has 15 of the 16 addresses the node takes",
        "write addressesPerNode: 17, or set gateway: none",
    ),
    (
        {"supernet": "10.0.0.0/16", "addressesPerNode": 1},
        {"smallest_block": 2},
        "addressesPerNode",
        "this release line's nv-ipam cuts blocks of 2 addresses and more",
        "write addressesPerNode: 2, or leave addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/12", "nodePrefixLength": 28},
        {"layout": "per-node", "addresses_per_nic": 28},
        "nodePrefixLength",
        "a node takes 28 addresses from each rail, but its /28 has 14 to give",
        "write nodePrefixLength: 27",
    ),
    (
        {"supernet": "10.0.0.0/12", "nodePrefixLength": 28, "addressesPerNode": 20},
        {"layout": "per-node"},
        "nodePrefixLength",
        "a node takes 20 addresses from each rail, but its /28 has 14 to give",
        "write nodePrefixLength: 27, or leave addressesPerNode out",
    ),
    (
        {"supernet": "10.0.0.0/24", "gateway": "last"},
        {"layout": "flat", "ipam": "spiderpool", "nodes": 20},
        "supernet",
        "20 nodes x 1 address = 20 per pool, but 10.0.0.0/28 has 14 usable and so serves 14 nodes: 6 addresses short",
        "write railSlots: 8 (it cuts anew, which moves addresses), or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/9", "railSlots": 8},
        {"nodes": 2**20},
        "supernet",
        "1048576 nodes x 1 address = 1048576 per pool, but 10.0.0.0/12 has 1048574 usable and so serves 1048574 nodes: "
        "2 addresses short",
        "use a supernet of /8 or larger",
    ),
    (
        {"supernet": "10.0.0.0/28", "railSlots": 1, "addressesPerNode": 4, "reservedLast": 4},
        {"rails": 1, "nodes": 3, "addresses_per_nic": 3},
        "reservedLast",
        "node 3 gets a block of 4 from rail-00, of which 2 of the 3 addresses it takes are left after what is reserved "
        "and excluded",
        "write addressesPerNode: 3, or leave reservedFirst and reservedLast out",
    ),
    (
        {"supernet": "10.0.0.0/24", "railSlots": 1, "addressesPerNode": 2},
        {"rails": 1, "nodes": 250},
        "supernet",
        "250 nodes x 2 addresses = 500 per pool, but 10.0.0.0/24 has 254 usable and so serves 127 nodes: 246 addresses "
        "short",
        "write addressesPerNode: 1, or leave addressesPerNode out, or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/20", "nodePrefixLength": 24},
        {"layout": "per-node", "nodes": 1},
        "nodePrefixLength",
        "a node's prefix of /24 does not divide the rail's 10.0.0.0/24",
        "write nodePrefixLength: 31, or use a supernet of /19 or larger",
    ),
    (
        {"supernet": "10.0.0.0/16", "exclude": ["10.0.0.3-10.0.0.6"]},
        {},
        "exclude",
        "node 3 gets a block of 1 from rail-00, of which 0 of the 1 addresses it takes are left after what is reserved "
        "and excluded",
        "write addressesPerNode: 4, or keep those hosts' addresses outside the supernet, and leave exclude out",
    ),
    (
        {"supernet": "10.0.0.0/24", "reservedLast": 2},
        {"nodes": 14},
        "supernet",
        "14 nodes x 1 address = 14 per pool, but 10.0.0.0/28 has 12 usable (2 reserved): 2 addresses short",
        "write railSlots: 8 (it cuts anew, which moves addresses), or use a supernet of /23 or larger",
    ),
    (
        {"supernet": "10.0.0.0/8", "prefixLength": 30, "addressesPerNode": 100},
        {"rails": 16, "nodes": 2**15},
        "supernet",
        "32768 nodes x 100 addresses = 3276800 per pool, but 10.0.0.0/30 has 2 usable and so serves 0 nodes: 3276798 "
        "addresses short",
        "ask for fewer nodes or addresses: no single change of `addressing` fits",
    ),
]


@pytest.mark.parametrize(("section", "demand", "key", "message", "remedy"), MISTAKES)
def test_a_refusal_says_what_is_wrong_by_how_much_and_what_to_write(
    section: Json, demand: Json, key: str, message: str, remedy: str
) -> None:
    refusal = refused(section, **demand)

    assert (refusal.key, refusal.message, refusal.remedy) == (key, message, remedy)


@pytest.mark.parametrize("share", [2**30, 2**31])
def test_absurd_numbers_are_answered_at_once_and_with_a_number_that_fits(share: int) -> None:
    for ipam in ("nv-ipam", "spiderpool"):
        refusal = refused({"supernet": "10.0.0.0/8", "addressesPerNode": share}, ipam=ipam)
        assert refusal.remedy.startswith("write addressesPerNode: 131071, or leave addressesPerNode out")


def problems(plan_with: PlanWith, changes: Any) -> list[Finding]:
    with pytest.raises(ConfigurationError) as caught:
        plan_with(changes)
    return [entry for entry in caught.value.findings if entry.id.startswith("ADR")]


def test_a_supernet_in_a_range_in_use_is_an_error_that_names_the_range(plan_with: PlanWith) -> None:
    changes = {"cluster.ranges.reserved": ["172.16.0.0/12", "192.168.64.0/20"]}
    (found,) = problems(plan_with, {**changes, "fabric.addressing.supernet": "192.168.0.0/16"})

    assert (found.id, found.path) == ("ADR002", "gpu-fabric:fabric.addressing.supernet")
    assert found.message == "192.168.0.0/16 overlaps 192.168.64.0/20, the cluster's reserved[1] range"


def test_a_refusal_reaches_the_user_with_the_key_to_change(plan_with: PlanWith) -> None:
    (found,) = problems(plan_with, {"fabric.addressing.prefixLength": 31})

    assert (found.id, found.path) == ("ADR007", "gpu-fabric:fabric.addressing.prefixLength")
    assert found.remedy.startswith("write prefixLength: 2")


def pinned_pools(plan_with: PlanWith, first_pool: int) -> Plan:
    """Two pools of named nodes with a prefix each; the second starts at share 32."""

    def pool(name: str, nodes: int, **more: Any) -> Json:
        names = [f"{name}-{node}" for node in range(nodes)]
        return {"name": name, "shape": "BM.GPU.H100.8", "nodes": nodes, "nodeNames": names, **more}

    pools = [pool("left", first_pool), pool("right", 3, firstShare=32)]
    section = {"layout": "per-node", "supernet": "192.168.0.0/16", "nodePrefixLength": 30}
    return plan_with({"cluster.pools": pools, "fabric.addressing": section})


def test_a_pool_with_a_share_of_its_own_to_start_from_stays_when_another_grows(plan_with: PlanWith) -> None:
    def prefixes(plan: Plan) -> dict[str, str]:
        allocations = plan.ip_pools[0].object.manifest()["spec"]["staticAllocations"]
        return {entry["nodeName"]: entry["prefix"] for entry in allocations}

    small, large = prefixes(pinned_pools(plan_with, 2)), prefixes(pinned_pools(plan_with, 30))

    assert small["right-0"] == "192.168.0.128/30"
    assert {name: large[name] for name in small} == small


def test_the_shares_between_two_pools_count_as_taken(plan_with: PlanWith) -> None:
    plan = pinned_pools(plan_with, 2)

    assert plan.addresses.with_shares().pools[0].shares[1:3] == ("192.168.0.4/30", "192.168.0.128/30")
    assert plan.addresses.proof.growth.steps == 1024 - 35


def test_the_addresses_of_a_nodes_nics_lie_in_the_share_that_its_pool_starts_from(plan_with: PlanWith) -> None:
    assert str(pinned_pools(plan_with, 2).addresses.nic_address(2, 0)) == "192.168.0.129"


def test_a_pool_without_a_first_share_comes_after_the_furthest_of_those_before_it(plan_with: PlanWith) -> None:
    shares = {"far": 32, "near": 0, "rest": None}
    pools = [
        {"name": name, "shape": "BM.GPU.H100.8", "nodes": 2, "nodeNames": [f"{name}-0", f"{name}-1"]}
        | ({} if first is None else {"firstShare": first})
        for name, first in shares.items()
    ]
    section = {"layout": "per-node", "supernet": "192.168.0.0/16", "nodePrefixLength": 30}
    plan = plan_with({"cluster.pools": pools, "fabric.addressing": section})

    assert [number for number, _ in plan.addresses.numbered_nodes] == [32, 33, 0, 1, 34, 35]


def test_where_one_pool_names_no_nodes_no_prefix_is_bound_to_a_name(plan_with: PlanWith) -> None:
    pools = [{"name": name, "shape": "BM.GPU.H100.8", "nodes": 2} for name in ("named", "unnamed")]
    pools[0]["nodeNames"] = ["gpu-a", "gpu-b"]
    plan = plan_with({"cluster.pools": pools, "fabric.addressing.layout": "per-node"})

    assert {"staticAllocations"} & set(plan.ip_pools[0].object.manifest()["spec"]) == set()


@pytest.mark.parametrize(
    ("changes", "block"),
    [
        ({"fabric.vfsPerNic": 4}, 4),
        ({"fabric.model": "host-device", "fabric.vfsPerNic": 0}, 1),
        ({"fabric.model": "macvlan"}, 1),
        ({"fabric.model": "macvlan", "fabric.podsPerNic": 3}, 3),
    ],
)
def test_a_nodes_share_holds_an_address_for_every_pod_that_a_nic_can_serve(
    plan_with: PlanWith, changes: Json, block: int
) -> None:
    assert plan_with(changes).addresses.pools[0].addresses_per_node == block
