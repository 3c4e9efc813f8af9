"""The address planner: which addresses each rail and each node gets, with the proof that they suffice."""

from gpu_fabric.plan.addresses.capacity import AddressDemand, Refusal
from gpu_fabric.plan.addresses.model import AddressPlan, AddressPool, CapacityProof, numbered
from gpu_fabric.plan.addresses.planner import plan_addresses, stated_ranges

__all__ = [
    "AddressDemand",
    "AddressPlan",
    "AddressPool",
    "CapacityProof",
    "Refusal",
    "numbered",
    "plan_addresses",
    "stated_ranges",
]
