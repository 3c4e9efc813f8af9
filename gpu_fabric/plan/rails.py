"""Rails: the k-th RDMA NIC of every node, with every name that belongs to it."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.spec import RailOverrideSpec

# Whose name stands before the resource: NVIDIA's SR-IOV device plug-in, the RDMA shared device plug-in's default (which
# DigitalOcean's managed one has too), Spiderpool's own.
_PREFIXES = {"network-operator": {"shared": "rdma"}, "doks": {"physical": "rdma"}, "spiderpool": {}}
_DEFAULT_PREFIX = {"network-operator": "nvidia.com", "doks": "rdma", "spiderpool": "spidernet.io"}


NIC_FACTS = ("pci", "rdma_device", "interface", "nearest_gpu")
"""What a rail says about the NIC itself."""


class Rail(FrozenModel):
    """One rail. The pod's request, the device plug-in's selector and the network all come from this record.

    `pci`, `rdma_device` and `interface` are the physical function's on the host, None where not published or where
    kinds of nodes differ; `resource` has no prefix. `network`, `resource` and `pool` are None where pods get none: on
    the host's own network, without a device to ask for, or without addresses. `pod_interface` is the interface's name
    inside the pod.
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


def plan_rails(case: Case) -> tuple[Rail, ...]:
    """One rail per RDMA NIC, in NIC order; where kinds of nodes differ in a fact about the NIC, it is None.

    Kinds with different numbers of NICs, which no accepted stack has, share the rails of the one with the fewest.
    """
    kinds = (group_rails(case, group) for group in case.groups)
    return tuple(_in_common(first, others) for first, *others in zip(*kinds, strict=False))


def group_rails(case: Case, group: NodeGroup) -> tuple[Rail, ...]:
    """The rails of one kind of nodes, as their NICs are there."""
    overrides = {entry.rail: entry for entry in case.spec.fabric.rails}
    pools = {rail: name for name, served in _serving(case) for rail in served}
    return tuple(
        _rail(case, index, nic, pools.get(index), overrides.get(index)) for index, nic in enumerate(group.shape.nics)
    )


def _in_common(rail: Rail, others: list[Rail]) -> Rail:
    differing = (fact for fact in NIC_FACTS if any(getattr(rail, fact) != getattr(other, fact) for other in others))
    return rail.model_copy(update=dict.fromkeys(differing))


def resource_prefix(case: Case) -> str:
    """The prefix of the rails' resources."""
    access = case.choices.row.access if case.choices.row else "physical"
    manager = case.choices.manager
    return _PREFIXES[manager].get(access, _DEFAULT_PREFIX[manager])


def rails_are_routed(case: Case) -> bool:
    """Whether DigitalOcean routes between the rails: addresses, routes and VRFs are set on the host, and must stay."""
    return case.shape.doks is not None and case.shape.doks.fabric == "rail-optimized"


def one_resource(case: Case) -> bool:
    """Whether all rails share one network and one resource: pods of a flat fabric take any of a node's devices."""
    row = case.choices.row
    return case.demand.one_pool and row is not None and row.access in ("virtual", "physical")


def _serving(case: Case) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return () if case.choices.layout == "none" else case.demand.serving


def _rail(case: Case, index: int, nic: Nic, pool: str | None, override: RailOverrideSpec | None) -> Rail:
    network, resource, pod_interface = _names(case, index, nic, pool)
    if override is not None and not one_resource(case) and network is not None:
        network = override.network or network
        # On DOKS the resource is DigitalOcean's, and names the very NIC.
        if resource is not None and case.choices.manager != "doks":
            resource = override.resource or (override.network.replace("-", "_") if override.network else resource)
    return Rail(
        index=index,
        network=network,
        resource=resource,
        resource_prefix=resource_prefix(case),
        pool=pool,
        pod_interface=pod_interface,
        pci=nic.pci,
        rdma_device=nic.rdma_device,
        interface=nic.interface,
        nearest_gpu=nic.nearest_gpu,
    )


def _names(case: Case, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
    """Network, resource and interface in the pod."""
    choices = case.choices
    if choices.model == "host-network":
        return None, None, None
    if choices.manager == "doks":
        fabric = nic.interface or f"fabric{index}"
        return f"roce-net-{fabric}", fabric, fabric
    # Fixed per rail: Multus' own numbering follows the order of the list, which editors change.
    pod_interface = f"net{index + 1}"
    if one_resource(case):
        # The OKE guide's own names for the one network and the one resource of virtual functions.
        resource = "sriov_rdma_vf" if choices.row and choices.row.access == "virtual" else "rdma_nic"
        return pool, resource, pod_interface
    if (choices.manager, choices.model) == ("spiderpool", "ipoib"):
        # It brings no RDMA device into the pod, so no plug-in advertises one.
        return f"rail-{index:02d}", None, pod_interface
    # The plug-ins' grammar allows no dash in a resource.
    return f"rail-{index:02d}", f"rail_{index:02d}", pod_interface
