"""What a node holds is the same whether it is counted on its own or with all others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from planned_wishes import Wish, accepted, few, more, wishes

from gpu_fabric.plan.addresses import AddressPool
from gpu_fabric.plan.addresses.plan import AddressSpace, Run


def usable(pool: AddressPool, node: int) -> AddressSpace:
    """What the network of a node has to give, counted for this node alone."""
    network = pool.node_prefix(node) or pool.space
    first, last = int(network.network_address), int(network.broadcast_address)
    if last - first >= 2:
        first, last = first + 1, last - (network.version == 4)
    router = pool.gateway_of(node)
    taken = [(int(span.first), int(span.last)) for span in pool.excluded]
    taken += [] if router is None else [(int(router), int(router))]
    return AddressSpace.of([(first + pool.reserved_first, last - pool.reserved_last)]).minus(AddressSpace.of(taken))


def share(pool: AddressPool, node: int) -> AddressSpace:
    """A node's share, counted for this node alone."""
    each = pool.addresses_per_node
    if pool.division == "prefixes":
        return usable(pool, node)
    if pool.division == "sequence":
        return usable(pool, node).slice(node * each, each)
    first = int(pool.space.network_address) + 1 + node * each
    return usable(pool, node).clipped(first, first + each - 1)


@given(wishes())
@more
def test_a_node_holds_what_is_counted_for_it_alone(wish: Wish) -> None:
    for pool in accepted(wish).pools:
        for node in range(wish.demand.nodes):
            assert pool.share(node) == share(pool, node)


@given(wishes(most=60))
@more
def test_a_nodes_network_its_text_and_its_router_belong_together(wish: Wish) -> None:
    for pool in accepted(wish).pools:
        for node in range(wish.demand.nodes):
            network, router = pool.node_prefix(node) or pool.space, pool.gateway_of(node)

            assert pool.bounds(node) == (int(network.network_address), int(network.broadcast_address))
            assert pool.node_prefix_length is None or pool.share_text(node) == str(network)
            assert router is None or router in (pool.node_prefix(node) or pool.subnet)


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
