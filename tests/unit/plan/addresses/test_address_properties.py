"""The address planner over the space of stack files: every plan held against the checker, every remedy tried."""

from ipaddress import ip_network
from typing import Any

import pytest
from address_checker import faults, first_addresses, pools_of
from changes import changed
from committed_stacks import folder_of
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from ipam_behaviour import nv_ipam_faults, spiderpool_faults, whereabouts_faults
from planned_wishes import NO_RANGES, Wish, accepted, few, more, wishes

from gpu_fabric.plan.addresses import AddressPlan, Refusal, plan_addresses
from gpu_fabric.plan.addresses.plan import AddressSpace, Run
from gpu_fabric.plan.addresses.planning import Cut, fitting_changes
from gpu_fabric.plan.ipam import cni_ipam, node_pools, pool_objects, pool_pattern
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec
from gpu_fabric.spec.load import read_document


def emitted(wish: Wish, plan: AddressPlan) -> list[dict[str, Any]]:
    """The pool objects' manifests."""
    from_the_end = wish.section.get("gateway") == "last" or wish.section.get("reservedLast")
    length = plan.pools[0].node_prefix_length
    # nv-ipam counts places in a prefix with 32 bits; rule IPM001 says so before objects are made.
    assume(wish.demand.ipam != "nv-ipam" or length is None or not from_the_end or not 32 < length < 97)
    of_nodes = (entry for _, pools in node_pools(plan) for entry in pools)
    return [entry.object.manifest() for entry in (*pool_objects(plan, "nvidia-network-operator"), *of_nodes)]


def as_json(plan: AddressPlan) -> dict[str, Any]:
    return plan.with_shares().model_dump(mode="json", by_alias=True)


def placed(plan: AddressPlan, nodes: int, rails: int) -> list[list[str | None]]:
    """What every NIC's pods hold first, and the gateway and share of its node."""
    return [
        [str(plan.nic_address(node, rail)), str(pool.gateway_of(node)), pool.share_text(node), str(pool.space)]
        for rail in range(rails)
        for node in range(nodes)
        if (pool := plan.pool_of(rail)) is not None
    ]


@given(wishes())
@more
def test_the_checker_finds_nothing_in_a_plan(wish: Wish) -> None:
    plan = accepted(wish)

    assert faults(as_json(plan), wish.section, {}, wish.demand.nodes, wish.demand.rails) == []


@given(wishes())
@few
def test_nic_addresses_are_those_that_the_checker_counts(wish: Wish) -> None:
    plan = accepted(wish)

    for pool in pools_of(as_json(plan), wish.section):
        for node in {0, wish.demand.nodes - 1}:
            mine = [int(plan.nic_address(node, rail) or 0) for rail in pool.rails]
            assert mine == first_addresses(pool, node, wish.demand.addresses_per_nic)


@given(wishes(most=60))
@more
def test_every_ipam_hands_out_the_planned_shares(wish: Wish) -> None:
    plan = accepted(wish)
    pools = pools_of(as_json(plan), wish.section)
    manifests = emitted(wish, plan)
    names = wish.demand.node_names

    if wish.demand.ipam == "nv-ipam":
        assert list(nv_ipam_faults(pools, manifests, names)) == []
    elif wish.demand.ipam == "spiderpool":
        patterns = {pool.name: (pool_pattern(pool),) for pool in plan.pools}
        assert list(spiderpool_faults(pools, manifests, patterns, names)) == []
    else:
        assert manifests == []
        for mine, pool in zip(plan.pools, pools, strict=True):
            section = cni_ipam(plan, mine)
            assert section is not None
            assert list(whereabouts_faults(pool, section.to_dict())) == []


@given(wishes())
@few
def test_planning_twice_gives_the_same_bytes(wish: Wish) -> None:
    plan = accepted(wish)

    assert wish.plan().model_dump_json() == plan.model_dump_json()


@given(wishes(), st.randoms(use_true_random=False))
@few
def test_the_order_of_keys_and_exclusions_changes_nothing(wish: Wish, random: Any) -> None:
    keys = list(wish.section)
    random.shuffle(keys)
    shuffled = {key: wish.section[key] for key in keys}
    shuffled["exclude"] = random.sample(wish.section["exclude"], len(wish.section["exclude"]))

    assert Wish(shuffled, wish.demand).plan() == wish.plan()


def in_other_order(value: Any, random: Any) -> Any:
    """The value with the keys of all its mappings shuffled."""
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: in_other_order(value[key], random) for key in keys}
    return [in_other_order(entry, random) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("stack", ["oke-h100-26-4", "sriov-whereabouts", "spiderpool-sriov-per-node"])
@given(random=st.randoms(use_true_random=False))
@settings(few, max_examples=4)
def test_the_order_of_keys_in_a_stack_file_changes_no_byte_of_the_plan(stack: str, random: Any) -> None:
    labels = {"cluster.pools[0].labels": {"tier": "gold", "rack": "r1", "zone": "z1"}}
    document = changed(read_document(stack, folder_of(stack)), labels)
    shuffled = document.model_copy(update={"sections": in_other_order(document.sections, random)})

    assert (
        prepare(shuffled, for_up=False).plan.model_dump_json() == prepare(document, for_up=False).plan.model_dump_json()
    )


@given(wishes(), st.permutations(["192.0.2.0/24", "198.51.100.0/24", "fd99::/48"]))
@few
def test_the_order_of_reserved_ranges_moves_no_address(wish: Wish, ranges: list[str]) -> None:
    plan = accepted(wish)
    other = wish.plan(AddressRangesSpec.model_validate({"reserved": ranges}))

    assert isinstance(other, AddressPlan)
    assert other.pools == plan.pools
    assert {str(entry.range) for entry in other.proof.disjoint_from} == set(ranges)


@pytest.mark.parametrize("more_of", ["nodes", "rails", "spareNodes", "surgeNodes"])
@given(wish=wishes(), added=st.integers(1, 400))
@more
def test_more_nodes_rails_spare_and_surge_nodes_move_no_address(more_of: str, wish: Wish, added: int) -> None:
    nodes, rails = wish.demand.nodes, wish.demand.rails
    larger = {
        "nodes": lambda: wish.with_nodes(nodes + added),
        "rails": lambda: wish.with_rails(rails + added % 8 + 1),
    }.get(more_of, lambda: wish.changed(**{more_of: added % 50}))()
    before, after = accepted(wish), larger.plan()
    assume(isinstance(after, AddressPlan))
    assert isinstance(after, AddressPlan)

    assert placed(after, nodes, rails) == placed(before, nodes, rails)


@given(wishes(small=True))
@few
def test_a_plan_grows_to_its_most_nodes_and_no_further(wish: Wish) -> None:
    plan = accepted(wish)
    most = min(pool.max_nodes for pool in plan.pools)
    assume(most <= 600)
    alone = wish.changed(spareNodes=0, surgeNodes=0)

    full = alone.with_nodes(most).plan()
    assert isinstance(full, AddressPlan)
    assert faults(as_json(full), alone.section, {}, most, wish.demand.rails) == []
    assert isinstance(alone.with_nodes(most + 1).plan(), Refusal)


@given(wishes(small=True))
@few
def test_the_next_sizes_that_a_proof_names_serve_one_node_more(wish: Wish) -> None:
    alone = wish.changed(spareNodes=0, surgeNodes=0, exclude=[])
    plan = accepted(alone)
    growth, most = plan.proof.growth, min(pool.max_nodes for pool in plan.pools)
    assume(growth.next_supernet)
    wider = ip_network(f"{str(plan.supernet).partition('/')[0]}{growth.next_supernet}", strict=False)
    pinned = {"prefixLength": int(growth.next_subnet[1:])} if "prefixLength" in wish.section else {}

    assert isinstance(alone.changed(supernet=str(wider), **pinned).with_nodes(most + 1).plan(), AddressPlan)


@given(wishes())
@more
def test_every_remedy_of_a_refusal_fits(wish: Wish) -> None:
    refusal = wish.plan()
    event(f"{wish.demand.layout}: {refusal.kind if isinstance(refusal, Refusal) else 'planned'}")
    assume(isinstance(refusal, Refusal))
    assert isinstance(refusal, Refusal)

    assert refusal.key in {field.alias for field in AddressingSpec.model_fields.values()}
    assert refusal.message
    assert refusal.remedy
    addressing = wish.addressing
    assert addressing.supernet is not None
    for fields, words in fitting_changes(Cut(addressing, addressing.supernet, wish.demand), refusal):
        assert words in refusal.remedy
        written = AddressingSpec.model_validate({**dict(addressing), **fields})
        plan = plan_addresses(written, NO_RANGES, wish.demand)
        assert isinstance(plan, AddressPlan), words
        section = written.model_dump(mode="json", by_alias=True)
        assert faults(as_json(plan), section, {}, wish.demand.nodes, wish.demand.rails) == [], words


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


runs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6)


def listed(space: AddressSpace) -> list[int]:
    return [value for first, last in space.runs for value in range(first, last + 1)]


@given(runs, st.integers(0, 70), st.integers(0, 20))
@few
def test_a_slice_of_a_space_is_that_of_its_addresses_one_by_one(given_runs: list[Run], start: int, length: int) -> None:
    space = AddressSpace.of(given_runs)

    assert listed(space.slice(start, length)) == listed(space)[start : start + length]


@given(runs, st.integers(-5, 70))
@few
def test_a_moved_space_has_every_address_as_far_away(given_runs: list[Run], offset: int) -> None:
    space = AddressSpace.of(given_runs)

    assert listed(space.moved(offset)) == [value + offset for value in listed(space)]
