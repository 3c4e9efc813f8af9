"""Addresses of the hosts' own NICs, and the place at which a supernet's rails begin."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from planned_addresses import Json, answer, planned, refused
from planned_wishes import Wish, accepted, few, wishes

from gpu_fabric.plan.addresses import AddressPlan


def hosts(section: Json, nodes: int = 4, rail: int = 0, **demand: object) -> list[str]:
    """What the hosts' NICs on a rail hold, node by node."""
    plan = planned(section, ipam="spiderpool", nodes=nodes, **demand)
    return [str(plan.pools[rail].host_address(node)) for node in range(nodes)]


@pytest.mark.parametrize(
    ("section", "held"),
    [
        ({"reservedFirst": 4}, ["172.16.0.1", "172.16.0.2", "172.16.0.3", "172.16.0.4"]),
        ({"gateway": "first", "reservedFirst": 5}, ["172.16.0.2", "172.16.0.3", "172.16.0.4", "172.16.0.5"]),
        ({"gateway": "last", "reservedFirst": 4}, ["172.16.0.1", "172.16.0.2", "172.16.0.3", "172.16.0.4"]),
        ({"gateway": "last", "reservedLast": 54}, ["172.16.0.201", "172.16.0.202", "172.16.0.203", "172.16.0.204"]),
        ({"reservedLast": 4}, ["172.16.0.251", "172.16.0.252", "172.16.0.253", "172.16.0.254"]),
        # The one at the start is the router's.
        (
            {"gateway": "first", "reservedFirst": 1, "reservedLast": 4},
            ["172.16.0.251", "172.16.0.252", "172.16.0.253", "172.16.0.254"],
        ),
    ],
)
def test_in_a_shared_subnet_hosts_hold_the_reserved_addresses_in_turn(section: Json, held: list[str]) -> None:
    assert hosts({"supernet": "172.16.0.0/20", **section}) == held


@pytest.mark.parametrize(
    ("section", "held"),
    [
        ({"gateway": "first", "reservedFirst": 2}, ["172.17.0.2", "172.17.0.34"]),
        ({"gateway": "first", "reservedFirst": 4}, ["172.17.0.2", "172.17.0.34"]),
        ({"reservedFirst": 1}, ["172.17.0.1", "172.17.0.33"]),
        ({"gateway": "last", "reservedLast": 2}, ["172.17.0.29", "172.17.0.61"]),
    ],
)
def test_with_a_prefix_of_its_own_every_host_holds_the_first_reserved_address_of_it(
    section: Json, held: list[str]
) -> None:
    cut = {"supernet": "172.17.0.0/21", "prefixLength": 24, "nodePrefixLength": 27}

    assert hosts({**cut, **section}, layout="per-node")[:2] == held


@pytest.mark.parametrize(
    ("section", "held"),
    [
        ({}, ["None", "None", "None", "None"]),
        ({"gateway": "first", "reservedFirst": 1}, ["None", "None", "None", "None"]),
        ({"gateway": "last", "reservedLast": 3}, ["172.16.0.252", "172.16.0.253", "None", "None"]),
        ({"reservedFirst": 2}, ["172.16.0.1", "172.16.0.2", "None", "None"]),
    ],
)
def test_a_host_for_which_no_address_is_reserved_has_none(section: Json, held: list[str]) -> None:
    assert hosts({"supernet": "172.16.0.0/20", **section}) == held


@given(wishes(most=40))
@few
def test_no_host_holds_what_a_pod_a_router_or_another_host_may_hold(wish: Wish) -> None:
    plan = accepted(wish)
    assume(any(key in wish.section for key in ("reservedFirst", "reservedLast")))

    for pool in plan.pools:
        held = [pool.host_address(node) for node in range(wish.demand.nodes)]
        own = [int(address) for address in held if address is not None]
        assert len(own) == len(set(own))
        for node, address in enumerate(held):
            if address is not None:
                assert address in (pool.node_prefix(node) or pool.space)
                assert address != pool.gateway_of(node)
                assert not any(first <= int(address) <= last for first, last in pool.share(node).runs)


def test_rails_begin_at_the_part_of_the_supernet_that_the_stack_file_names() -> None:
    plan = planned({"supernet": "172.16.0.0/16", "prefixLength": 24, "firstRailSlot": 11}, ipam="spiderpool")

    assert [str(pool.space) for pool in plan.pools] == [f"172.16.{part}.0/24" for part in range(11, 19)]


def test_one_pool_for_all_rails_has_the_whole_supernet_wherever_rails_begin() -> None:
    plan = planned({"supernet": "192.168.0.0/16", "firstRailSlot": 3}, layout="flat")

    assert [str(pool.space) for pool in plan.pools] == ["192.168.0.0/16"]


@given(wishes())
@few
def test_a_first_slot_moves_all_rails_by_as_many_parts_and_changes_nothing_else(wish: Wish) -> None:
    plan = accepted(wish.changed(firstRailSlot=0))
    moved = wish.changed(firstRailSlot=2).plan()
    assume(isinstance(moved, AddressPlan))
    assert isinstance(moved, AddressPlan)
    assume(len(plan.pools) > 1)

    for before, after in zip(plan.pools, moved.pools, strict=True):
        assert int(after.space.network_address) - int(before.space.network_address) == 2 * before.space.num_addresses
        assert (after.name, after.rails, after.space.prefixlen) == (before.name, before.rails, before.space.prefixlen)


@pytest.mark.parametrize(
    ("section", "first"),
    [
        ({"supernet": "172.16.0.0/20", "prefixLength": 24, "firstRailSlot": 9}, 8),
        ({"supernet": "172.16.0.0/20", "firstRailSlot": 11}, 8),
    ],
)
def test_a_supernet_without_room_after_the_first_slot_is_refused_with_one_that_has_it(
    section: Json, first: int
) -> None:
    refusal = refused(section)

    assert f"the first {section['firstRailSlot']} are passed over, but there are 8 rails" in refusal.message
    assert f"write firstRailSlot: {first}" in refusal.remedy
    assert isinstance(answer({**section, "firstRailSlot": first}, {}), AddressPlan)


def test_the_next_supernet_that_a_proof_names_has_the_parts_before_the_first_slot_too() -> None:
    growth = planned({"supernet": "10.0.0.0/16", "prefixLength": 24, "firstRailSlot": 11}).proof.growth
    wider = planned({"supernet": "10.0.0.0/18", "prefixLength": 23, "firstRailSlot": 11})

    assert (growth.next_subnet, growth.next_supernet) == ("/23", "/18")
    assert str(wider.pools[7].space) == "10.0.36.0/23"
