"""Spectrum-X: the objects that split the NICs over planes, and make rails of them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.k8s.base import KubernetesObject, ObjectMeta
from gpu_fabric.k8s.spectrum_x import (
    NicConfiguration,
    NicConfigurationTemplate,
    NicConfigurationTemplateSpec,
    NicInterfaceNameTemplate,
    NicInterfaceNameTemplateSpec,
    NicTypeSelector,
    PciPerformanceOptimized,
    PfSelector,
    RailTopology,
    SpectrumXOptimized,
    SpectrumXRailPoolConfig,
    SpectrumXRailPoolConfigSpec,
)
from gpu_fabric.plan.case import PLANE_INTERFACE, PLANE_RDMA_DEVICE, Case, NodeGroup, plane_interface
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.spec.fabric import PlanesSpec
from gpu_fabric.spec.upgrade import UpgradeSpec

_NAME = "gpu-fabric"
# NVIDIA's quick start of Network Operator 26.7 (kubernetes2670, spectrum-x).
_READ_REQUEST = 4096


def nic_objects(case: Case, planes: PlanesSpec) -> Iterator[KubernetesObject]:
    """The names of the planes' interfaces, and the configuration of the NICs, for each node group.

    The names come first: the operator reboots nodes for the configuration, and their rules are then on the nodes.
    """
    for group in case.groups:
        suffix = f"-{group.name}" if len(case.groups) > 1 else ""
        metadata = ObjectMeta(name=f"{_NAME}{suffix}", namespace=manager_of(case).namespace)
        first = _first_functions(group, planes)
        by_rail = "_p%plane_id%_r%rail_id%"
        yield NicInterfaceNameTemplate(
            metadata=metadata,
            spec=NicInterfaceNameTemplateSpec(
                node_selector=group.selector,
                pfs_per_nic=planes.count,
                # The planes of a NIC that balances the load itself have one RDMA device.
                rdma_device_prefix=PLANE_RDMA_DEVICE + (by_rail if planes.mode == "swplb" else "_r%rail_id%"),
                net_device_prefix=PLANE_INTERFACE + by_rail,
                rail_pci_addresses=tuple((address,) for address in first),
            ),
        )
        model = group.shape.nic_model
        yield NicConfigurationTemplate(
            metadata=metadata,
            spec=NicConfigurationTemplateSpec(
                node_selector=group.selector,
                nic_selector=NicTypeSelector(
                    nic_type=(model.device_id if model else None) or "",
                    # Without them other NICs of the type, such as those of the node network, are configured as well.
                    pci_addresses=first,
                ),
                template=NicConfiguration(
                    num_vfs=1,
                    link_type="Ethernet",
                    spectrum_x_optimized=SpectrumXOptimized(
                        enabled=True,
                        version=planes.profile or "",
                        multiplane_mode=planes.mode,
                        number_of_planes=planes.count,
                        overlay="none",
                    ),
                    pci_performance_optimized=PciPerformanceOptimized(enabled=True, max_read_request=_READ_REQUEST),
                ),
            ),
        )


def rail_pool(case: Case, planes: PlanesSpec) -> SpectrumXRailPoolConfig:
    """The rails, or the planes of each: all planes' interfaces of a rail whose NIC balances the load itself."""
    return SpectrumXRailPoolConfig(
        metadata=ObjectMeta(name=_NAME, namespace=manager_of(case).sriov_namespace),
        spec=SpectrumXRailPoolConfigSpec(
            dra_enabled=False,
            node_selector=case.node_selector,
            network_namespace=case.spec.fabric.namespaces[0].name,
            num_vfs=1,
            max_unavailable=(case.spec.upgrade or UpgradeSpec()).at_a_time(case.nodes),
            rail_topology=tuple(
                RailTopology(
                    name=rail.network or "",
                    nic_selector=PfSelector(
                        pf_names=(rail.interface or "",)
                        if planes.mode == "swplb"
                        else tuple(plane_interface(rail.index, plane) for plane in range(planes.count))
                    ),
                    cidr_pool_ref=rail.pool or "",
                    mtu=case.mtu or 0,
                )
                for rail in plan_rails(case)
            ),
        ),
    )


def _first_functions(group: NodeGroup, planes: PlanesSpec) -> tuple[str, ...]:
    """The PCI address of the first function of each NIC, in the order of the rails."""
    return tuple(nic.pci for nic in group.shape.nics[:: planes.shown] if nic.pci is not None)
