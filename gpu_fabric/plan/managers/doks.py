"""DigitalOcean's own software on its nodes: it configures the NICs and advertises them; the stack adds Multus."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.catalog import Nic
from gpu_fabric.contract import AttachedNetwork
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import (
    HostDevicePlugin,
    IpPreservingHostDevicePlugin,
    NetworkAttachmentDefinition,
    NetworkAttachmentDefinitionSpec,
    SingleCni,
)
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail, rails_are_routed
from gpu_fabric.plan.records import PlannedObject

KEEPING_PLUGIN = "ip-preserving-host-device"
"""The CNI plug-in that moves a NIC with its addresses and routes; plain host-device would drop them."""


class Doks(FabricManager):
    """DigitalOcean."""

    title = "DigitalOcean"
    steps = ("multus", "multus-daemon")
    devices_advertised_by = "DigitalOcean"
    nics_configured_by = "DigitalOcean"

    @property
    def resource_prefix(self) -> str:
        """The RDMA shared device plug-in's default, which DigitalOcean's has too."""
        return "rdma"

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """Names as in the DOKS guide: DigitalOcean names a resource after the NIC's interface."""
        fabric = nic.interface or f"fabric{index}"
        return self.case.own_name(f"roce-net-{fabric}"), fabric, fabric

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """A network that moves the NIC as it is."""
        device = rail.resource or ""
        routed = rails_are_routed(self.case)
        plugin = IpPreservingHostDevicePlugin(device=device) if routed else HostDevicePlugin(device=device)
        return PlannedObject(
            object=NetworkAttachmentDefinition(
                metadata=ObjectMeta(name=rail.network or "", namespace=namespace),
                spec=NetworkAttachmentDefinitionSpec(config=SingleCni(plugin=plugin).to_json()),
            )
        )

    def networks_annotation(self, attached: Sequence[AttachedNetwork]) -> str:
        """The networks as the DOKS guide writes them."""
        return ", ".join(f"{network.network}@{network.interface}" for network in attached)

    def networks_from_elsewhere(self, attached: Sequence[AttachedNetwork], namespaces: Sequence[str]) -> dict[str, str]:
        """The guide's form with each network's namespace."""
        return {
            namespace: ", ".join(f"{namespace}/{network.network}@{network.interface}" for network in attached)
            for namespace in namespaces
        }

    @property
    def lacking_plugins(self) -> tuple[str, ...]:
        """The plug-in for routed rails, which DigitalOcean publishes as an image."""
        return (KEEPING_PLUGIN,) if rails_are_routed(self.case) else ()
