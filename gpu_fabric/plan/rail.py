"""One rail, the k-th RDMA NIC of every node, as a record; and what holds for the rails of a stack as a whole."""

from __future__ import annotations

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case

NIC_FACTS = ("pci", "rdma_device", "interface", "nearest_gpu")
"""Fields of a rail that are facts about the NIC itself."""


class Rail(FrozenModel):
    """One rail. The pod's request, the device plug-in's selector and the network all come from this record.

    `pci`, `rdma_device` and `interface` are the physical function's on the host, None where they are not published or
    where node groups differ; `resource` has no prefix. `network`, `resource` and `pool` are None where pods get none:
    on the host's own network, without a device to request, or without addresses. `pod_interface` is the interface's
    name inside the pod.
    """

    index: int
    network: str | None
    resource: str | None
    resource_prefix: str
    pool: str | None
    pod_interface: str | None
    pci: str | None
    rdma_device: str | None
    interface: str | None
    nearest_gpu: int | None

    @property
    def resource_name(self) -> str | None:
        """The extended resource as a pod requests it."""
        return None if self.resource is None else f"{self.resource_prefix}/{self.resource}"


def rails_are_routed(case: Case) -> bool:
    """Whether DigitalOcean routes between the rails: addresses, routes and VRFs are set on the host, and must stay."""
    return case.shape.doks is not None and case.shape.doks.fabric == "rail-optimized"


def one_resource(case: Case) -> bool:
    """Whether all rails share one network and one resource: pods take any of a node's devices.

    So it is in a flat fabric, and where the manager's device plug-in knows one pool alone.
    """
    return case.choices.one_pool or (case.demand.one_pool and case.choices.access in ("virtual", "physical"))
