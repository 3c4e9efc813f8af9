"""DRANET: pods claim NICs, and its driver moves them with the addresses that they have on the host."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.claims import DRIVER, claim_templates, claims_spec, class_name, nic_class
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.software import DranetSpec


class Dranet(FabricManager):
    """DRANET."""

    title = "DRANET"
    chart = "dranet"
    steps = ("dranet",)
    dra_driver = DRIVER

    @property
    def nic_class(self) -> str:
        """The fabric's own."""
        return class_name(self.case)

    @property
    def claims_gpus(self) -> bool:
        """As the stack file says."""
        return claims_spec(self.case).gpus == "claims"

    @property
    def _software(self) -> DranetSpec:
        return self.case.spec.software.dranet

    @property
    def resource_prefix(self) -> str:
        """The driver's name: claims name no resource."""
        return DRIVER

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """No network and no resource, and the interface as the host has it, unless pods have the rails' own names.

        An InfiniBand NIC comes without an interface: pods use its RDMA device alone.
        """
        if self.case.choices.link_type == "infiniband":
            return None, None, None
        own = claims_spec(self.case).interface_names == "rails"
        return None, None, f"net{index + 1}" if own else nic.interface

    def networks(self, rails: tuple[Rail, ...], addresses: AddressPlan) -> tuple[PlannedObject, ...]:
        """The class of the fabric's NICs, and in every namespace the templates of claims."""
        # The API server refuses every change of a template's spec; claims that exist keep what they were made from.
        templates = (
            PlannedObject(object=template, replaced_on=("spec",))
            for namespace in self.network_namespaces
            for template in claim_templates(self.case, rails, namespace)
        )
        return (PlannedObject(object=nic_class(self.case)), *templates)

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """Not called: rails have no networks."""
        raise LookupError(f"rail {rail.index} is claimed, and has no network in {namespace}")
