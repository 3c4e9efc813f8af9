"""The address planner: the addresses of each rail and each node, with the proof that they suffice."""

from gpu_fabric.plan.addresses.plan import AddressDemand, AddressPlan, AddressPool, binds_shares, number_nodes
from gpu_fabric.plan.addresses.planning import Refusal, plan_addresses, stated_ranges

__all__ = [
    "AddressDemand",
    "AddressPlan",
    "AddressPool",
    "Refusal",
    "binds_shares",
    "number_nodes",
    "plan_addresses",
    "stated_ranges",
]
