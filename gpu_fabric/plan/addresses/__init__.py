"""The address planner: the addresses of each rail and each node, with the proof that they suffice."""

from gpu_fabric.plan.addresses.capacity import AddressDemand, Refusal
from gpu_fabric.plan.addresses.model import AddressPlan, AddressPool, number_nodes
from gpu_fabric.plan.addresses.planner import plan_addresses, stated_ranges

__all__ = [
    "AddressDemand",
    "AddressPlan",
    "AddressPool",
    "Refusal",
    "number_nodes",
    "plan_addresses",
    "stated_ranges",
]
