"""The address planner: the addresses of each rail and each node, with the proof that they suffice."""

from gpu_fabric.plan.addresses.capacity import AddressDemand, Refusal
from gpu_fabric.plan.addresses.model import AddressPlan, AddressPool, numbered
from gpu_fabric.plan.addresses.planner import plan_addresses, stated_ranges

__all__ = [
    "AddressDemand",
    "AddressPlan",
    "AddressPool",
    "Refusal",
    "numbered",
    "plan_addresses",
    "stated_ranges",
]
