"""From addressing and demand to the address plan, or to the reason why there is none and the smallest way out."""

from __future__ import annotations

from collections.abc import Collection

from gpu_fabric.plan.addresses.capacity import Refusal, pools_of
from gpu_fabric.plan.addresses.demand import AddressDemand
from gpu_fabric.plan.addresses.growth import growth_of, limits_of
from gpu_fabric.plan.addresses.model import AddressPlan, AddressPool, CapacityProof, Limit, RangeInUse
from gpu_fabric.plan.addresses.remedies import remedy
from gpu_fabric.spec import AddressingSpec, AddressRangesSpec
from gpu_fabric.spec.network_types import IPNetwork


def plan_addresses(
    addressing: AddressingSpec, ranges: AddressRangesSpec, demand: AddressDemand, within: Collection[str] = ()
) -> AddressPlan | Refusal:
    """The plan, or why there is none; what a refusal proposes is proved to fit.

    `within` names those of the ranges in use that are parts of another one, and need not be stated.

    Raises:
        ValueError: the layout gives addresses, and `addressing` has no supernet.
    """
    if demand.layout == "none":
        return _plan(addressing, ranges, demand, within, (), ())
    if addressing.supernet is None:
        raise ValueError(f"the layout {demand.layout} needs a supernet")
    pools = pools_of(addressing, addressing.supernet, demand)
    if isinstance(pools, Refusal):
        return pools.model_copy(update={"remedy": remedy(addressing, addressing.supernet, demand, pools)})
    return _plan(addressing, ranges, demand, within, pools, limits_of(addressing, demand))


def stated_ranges(ranges: AddressRangesSpec) -> list[tuple[str, IPNetwork]]:
    """The ranges in use that the stack file names, each with its key."""
    return [*ranges.own().items(), *((f"reserved[{place}]", network) for place, network in enumerate(ranges.reserved))]


def _plan(
    addressing: AddressingSpec,
    ranges: AddressRangesSpec,
    demand: AddressDemand,
    within: Collection[str],
    pools: tuple[AddressPool, ...],
    limits: tuple[Limit, ...],
) -> AddressPlan:
    return AddressPlan(
        layout=demand.layout,
        ipam=demand.ipam if pools else None,
        supernet=addressing.supernet if pools else None,
        addresses_per_nic=demand.addresses_per_nic,
        node_names=demand.node_names,
        node_numbers=demand.node_numbers,
        pools=pools,
        proof=CapacityProof(
            nodes=demand.nodes,
            spare_nodes=addressing.spare_nodes,
            surge_nodes=addressing.surge_nodes,
            needed_per_node=demand.needed_per_node if pools else 0,
            growth=growth_of(addressing, demand, pools, limits),
            limits=limits,
            disjoint_from=tuple(RangeInUse(name=name, range=network) for name, network in stated_ranges(ranges)),
            not_stated=ranges.not_stated(within),
        ),
    )
