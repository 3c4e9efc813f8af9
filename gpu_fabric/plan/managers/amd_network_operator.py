"""AMD's Network Operator: one network and one resource for all NICs of a node, which keep the addresses of the host."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import (
    AmdHostDevicePlugin,
    NetworkAttachmentDefinition,
    NetworkAttachmentDefinitionSpec,
    SingleCni,
)
from gpu_fabric.k8s.names import RESOURCE_NAME_ANNOTATION
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.software import AmdNetworkOperatorSpec


class AmdNetworkOperator(FabricManager):
    """AMD's Network Operator."""

    title = "AMD's Network Operator"
    chart = "amd-network-operator"
    # Its device plug-in waits on each node for the configuration of Multus.
    steps = ("multus", "multus-daemon", "amd-network-operator", "network-config")
    networks_set_mtu = False

    @property
    def _software(self) -> AmdNetworkOperatorSpec:
        return self.case.spec.software.amd_network_operator

    @property
    def resource_prefix(self) -> str:
        """The prefix in the chart's configuration of the device plug-in, which no value changes."""
        return "amd.com"

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """One network and one resource for all rails: which NIC becomes net1 is the device plug-in's choice."""
        return self.case.own_name("amd-nic"), "nic", f"net{index + 1}"

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """A network that moves the NIC which Multus has from the device plug-in; pods name it once for each NIC."""
        name = rail.network or ""
        return PlannedObject(
            object=NetworkAttachmentDefinition(
                metadata=ObjectMeta(
                    name=name, namespace=namespace, annotations={RESOURCE_NAME_ANNOTATION: rail.resource_name or ""}
                ),
                spec=NetworkAttachmentDefinitionSpec(
                    config=SingleCni(name=name, plugin=AmdHostDevicePlugin()).to_json()
                ),
            )
        )
