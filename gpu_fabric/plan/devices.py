"""What the device plug-ins advertise: one resource per rail, or one for all, selected by the rails' own facts."""

from __future__ import annotations

from gpu_fabric.base.enumeration import grouped
from gpu_fabric.catalog import Shape
from gpu_fabric.k8s.device_plugin import (
    DeviceSelectors,
    RdmaSelectors,
    RdmaSharedDevicePluginConfig,
    RdmaSharedResource,
    SriovDevicePluginConfig,
    SriovResource,
)
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import group_rails

# Seconds after which the shared plug-in looks for NICs again; Spiderpool's chart has the same.
_LOOK_AGAIN_S = 300


class PlannedNodes(FrozenModel):
    """A node group: its labels, its rails' NICs, and its device plug-ins' configurations."""

    name: str
    shape: str
    labels: dict[str, str]
    rails: tuple[Rail, ...]
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None


def planned_nodes(case: Case, group: NodeGroup) -> PlannedNodes:
    """A node group, with the device plug-ins' configurations where the stack writes them."""
    rails, row = group_rails(case, group), case.choices.row
    assert row is not None, "a pair that is not in the support matrix was refused"
    advertised = row.access == "shared" and any(rail.resource is not None for rail in rails)
    return PlannedNodes(
        name=group.name,
        shape=group.shape.name,
        labels=group.labels,
        rails=rails,
        sriov_plugin=sriov_plugin_config(case, group.shape, rails)
        if manager_of(case).runs_policy_plugins and row.access in ("virtual", "physical")
        else None,
        shared_plugin=shared_plugin_config(case, rails) if advertised else None,
    )


def sriov_plugin_config(case: Case, shape: Shape, rails: tuple[Rail, ...]) -> SriovDevicePluginConfig:
    """One resource per resource name of the rails, for the SR-IOV network device plug-in on nodes of one shape."""
    return SriovDevicePluginConfig(
        resource_list=tuple(
            SriovResource(
                resource_prefix=members[0].resource_prefix,
                resource_name=name,
                selectors=_selectors(case, shape, members, all_rails=len(members) == len(rails)),
            )
            for name, members in rails_by_resource(rails).items()
        )
    )


def rails_by_resource(rails: tuple[Rail, ...]) -> dict[str, list[Rail]]:
    """The rails that share each resource, in rail order."""
    return grouped(rails, lambda rail: rail.resource or "")


def _selectors(case: Case, shape: Shape, rails: list[Rail], *, all_rails: bool) -> DeviceSelectors:
    """How a resource's devices are found on a node.

    NICs are selected by PCI address where it is known, since interface names differ between node images. Virtual
    functions are named by the physical one that they belong to.
    """
    nic, virtual = shape.nic_model, case.choices.access == "virtual"
    device = None if nic is None else nic.vf_device_id if virtual else nic.device_id
    drivers = _one(nic.driver if nic else None)
    if case.line.policy_by == "chart" and all_rails and virtual and device is not None:
        # The OKE guide's own form: every virtual function of the node by its device id.
        return DeviceSelectors(devices=(device,), drivers=drivers, is_rdma=True)
    addresses = tuple(rail.pci for rail in rails if rail.pci) or None
    interfaces = tuple(rail.interface for rail in rails if rail.interface) or None
    return DeviceSelectors(
        vendors=_one(nic.vendor_id if nic else None),
        devices=_one(device),
        drivers=drivers,
        root_devices=addresses if virtual else None,
        pci_addresses=None if virtual else addresses,
        pf_names=interfaces if not addresses else None,
        link_types=("infiniband",) if case.choices.link_type == "infiniband" else None,
        is_rdma=True,
    )


def shared_plugin_config(case: Case, rails: tuple[Rail, ...]) -> RdmaSharedDevicePluginConfig:
    """One resource per rail, for the RDMA shared device plug-in; it knows NICs by their interface only."""
    return RdmaSharedDevicePluginConfig(
        periodic_update_interval=_LOOK_AGAIN_S,
        config_list=tuple(
            RdmaSharedResource(
                resource_prefix=rail.resource_prefix,
                resource_name=rail.resource or "",
                rdma_hca_max=case.pods_per_nic,
                selectors=RdmaSelectors(if_names=(rail.interface or "",)),
            )
            for rail in rails
        ),
    )


def _one(value: str | None) -> tuple[str, ...] | None:
    return None if value is None else (value,)
