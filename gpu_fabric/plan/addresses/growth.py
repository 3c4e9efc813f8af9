"""How far a plan can grow, and what ends it: its own addresses, or a limit of what stores them."""

from __future__ import annotations

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.addresses.capacity import shares_in
from gpu_fabric.plan.addresses.demand import LARGEST_SUPERNET, AddressDemand, slot_bits, wanted_nodes
from gpu_fabric.plan.addresses.model import AddressPool, Growth, Limit
from gpu_fabric.spec import AddressingSpec


def limits_of(addressing: AddressingSpec, demand: AddressDemand) -> tuple[Limit, ...]:
    """The limits outside the address space that a plan meets, for one pool, the fullest."""
    wanted, known = wanted_nodes(addressing, demand), catalog().address_limits
    if demand.ipam == "nv-ipam":
        # A node that is named has an allocation in the pool's spec beside the one in its status.
        each = known.allocation_bytes.value * (2 if demand.node_names and demand.layout == "per-node" else 1)
        return (
            Limit(
                name="the size of one pool object",
                value=wanted * each,
                limit=known.object_bytes.value,
                unit=known.object_bytes.unit,
                nodes=known.object_bytes.value // each,
                source=f"{known.object_bytes.source}; nv-ipam keeps about {each} bytes a node in a pool",
            ),
        )
    if demand.ipam == "spiderpool" and demand.layout != "per-node":
        each = demand.needed_per_node
        return (
            Limit(
                name="the addresses that Spiderpool allocates from one pool",
                value=wanted * each,
                limit=known.spiderpool_allocated.value,
                unit=known.spiderpool_allocated.unit,
                nodes=known.spiderpool_allocated.value // each,
                source=known.spiderpool_allocated.source,
            ),
        )
    if demand.ipam == "spiderpool":
        most = known.spiderpool_most_pools
        return (
            Limit(
                name="the number of SpiderIPPools",
                value=wanted * demand.rails,
                limit=most.value,
                unit=most.unit,
                nodes=most.value // demand.rails,
                source=most.source,
            ),
        )
    return ()


def growth_of(
    addressing: AddressingSpec, demand: AddressDemand, pools: tuple[AddressPool, ...], limits: tuple[Limit, ...]
) -> Growth:
    """The room that is left, in steps of `growthStep` nodes, and the sizes that would give more."""
    wanted = wanted_nodes(addressing, demand)
    ends = [(pool.max_nodes, f"the addresses of {pool.name}") for pool in pools]
    ends += [(limit.nodes, limit.name) for limit in limits]
    most, what = min(ends, key=lambda end: end[0], default=(wanted, "nothing: no addresses are planned"))
    subnet, supernet = _next_sizes(addressing, demand, pools[0]) if pools else ("", "")
    return Growth(
        step=addressing.growth_step,
        steps=max(0, most - wanted) // addressing.growth_step,
        max_nodes=most,
        ends_at=what,
        next_subnet=subnet,
        next_supernet=supernet,
    )


def _next_sizes(addressing: AddressingSpec, demand: AddressDemand, pool: AddressPool) -> tuple[str, str]:
    """The pool size that serves one node more than this one can, and the supernet that holds one per rail slot."""
    rails = (addressing.first_rail_slot + demand.rails - 1).bit_length()
    chosen = rails if addressing.prefix_length is not None else max(slot_bits(addressing), rails)
    slots = 0 if demand.one_pool else chosen
    for prefix in range(pool.space.prefixlen - 1, LARGEST_SUPERNET - 1, -1):
        space = type(pool.space)((0, prefix))
        larger = pool.altered(space=space, subnet=space, excluded=())
        if shares_in(larger) > pool.max_nodes:
            return f"/{prefix}", f"/{prefix - slots}" if prefix - slots >= LARGEST_SUPERNET else ""
    return "", ""
