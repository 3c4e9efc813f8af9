"""The rails of a stack: every NIC with its network, resource and pool, named once."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import NIC_FACTS, Rail, one_resource
from gpu_fabric.spec.fabric import RailOverrideSpec


def plan_rails(case: Case) -> tuple[Rail, ...]:
    """One rail per RDMA NIC, in NIC order; where node groups differ in a fact about the NIC, it is None.

    Groups with different numbers of NICs, which no accepted stack has, share the rails of the one with the fewest.
    """
    groups = (group_rails(case, group) for group in case.groups)
    return tuple(_in_common(first, others) for first, *others in zip(*groups, strict=False))


def group_rails(case: Case, group: NodeGroup) -> tuple[Rail, ...]:
    """The rails of one node group, with the facts of its NICs."""
    overrides = {entry.rail: entry for entry in case.spec.fabric.rails}
    serving = () if case.choices.layout == "none" else case.demand.serving
    pools = {rail: name for name, served in serving for rail in served}
    return tuple(
        _rail(case, index, nic, pools.get(index), overrides.get(index)) for index, nic in enumerate(group.shape.nics)
    )


def _in_common(rail: Rail, others: list[Rail]) -> Rail:
    differing = (fact for fact in NIC_FACTS if any(getattr(rail, fact) != getattr(other, fact) for other in others))
    return rail.model_copy(update=dict.fromkeys(differing))


def _rail(case: Case, index: int, nic: Nic, pool: str | None, override: RailOverrideSpec | None) -> Rail:
    manager, on_host = manager_of(case), case.choices.model == "host-network"
    network, resource, pod_interface = (None, None, None) if on_host else manager.rail_names(index, nic, pool)
    if override is not None and not one_resource(case) and network is not None:
        network = override.network or network
        # The cloud names the resources that it advertises.
        if resource is not None and manager.devices_advertised_by is None:
            resource = override.resource or (override.network.replace("-", "_") if override.network else resource)
    return Rail(
        index=index,
        network=network,
        resource=resource,
        resource_prefix=manager.resource_prefix,
        pool=pool,
        pod_interface=pod_interface,
        pci=nic.pci,
        rdma_device=nic.rdma_device,
        interface=nic.interface,
        nearest_gpu=nic.nearest_gpu,
    )
