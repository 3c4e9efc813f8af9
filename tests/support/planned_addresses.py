"""Address plans straight from a section of the stack file and a demand, checked by brute force on the way."""

from typing import Any

from address_checker import faults

from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, Refusal, plan_addresses
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec

Json = dict[str, Any]


def answer(section: Json, demand: Json) -> AddressPlan | Refusal:
    """What the planner says to a section `addressing` for 8 rails and one pod a NIC, unless `demand` says otherwise."""
    given = {"layout": "per-rail", "ipam": "nv-ipam", "rails": 8, "addresses_per_nic": 1, "nodes": 8, **demand}
    return plan_addresses(AddressingSpec.model_validate(section), AddressRangesSpec(), AddressDemand(**given))


def planned(section: Json, **demand: Any) -> AddressPlan:
    plan = answer(section, demand)
    assert isinstance(plan, AddressPlan), plan
    plan = plan.with_shares()
    document = plan.model_dump(mode="json", by_alias=True)
    # The checker counts shares from the first.
    found = faults(document, section, {}, demand.get("nodes", 8), demand.get("rails", 8))
    assert found == [] or "node_numbers" in demand
    return plan


def refused(section: Json, **demand: Any) -> Refusal:
    refusal = answer(section, demand)
    assert isinstance(refusal, Refusal)
    return refusal
