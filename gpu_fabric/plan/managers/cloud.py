"""The cloud that runs an existing cluster: its own plug-in or driver hands out NICs, as its profile says."""

from __future__ import annotations

from gpu_fabric.catalog import Nic
from gpu_fabric.catalog.cloud import CloudClaims, CloudProfile
from gpu_fabric.contract import AttachedNetwork
from gpu_fabric.k8s import dra
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.claims import template_name
from gpu_fabric.plan.managers.manager import FabricManager
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject


class Cloud(FabricManager):
    """The cloud of the stack's profile."""

    title = "the cloud"
    steps = ()
    devices_advertised_by = "the cloud"
    nics_configured_by = "the cloud"
    by_profile = True
    attaches_by_multus = False

    @property
    def profile(self) -> CloudProfile | None:
        """The profile; None in a stack that a rule refuses."""
        return self.case.cloud

    @property
    def claims(self) -> CloudClaims | None:
        """How pods claim NICs; None where the stack file leaves that to the plug-in, or the cloud has no driver."""
        if self.profile is None or self.case.spec.fabric.devices == "plugin":
            return None
        return self.profile.claims

    @property
    def nic_class(self) -> str | None:
        """The cloud's class of NICs; None where they are not claimed."""
        return None if self.claims is None else self.claims.device_class

    @property
    def resource_prefix(self) -> str:
        """The domain of the plug-in's resource."""
        plugin = None if self.profile is None else self.profile.plugin
        return "" if plugin is None else plugin.resource.partition("/")[0]

    def rail_names(self, index: int, nic: Nic, pool: str | None) -> tuple[str | None, str | None, str | None]:
        """No network; the plug-in's resource, and an interface where the cloud gives pods one."""
        if self.profile is None:
            return None, None, None
        interfaces, plugin = self.profile.interfaces, self.profile.plugin
        interface = None if interfaces is None or self.claims is not None else interfaces.name(index)
        by_plugin = plugin is not None and self.claims is None
        resource = plugin.resources(index + 1)[index].partition("/")[2] if plugin is not None and by_plugin else None
        return None, resource, interface

    def requested(self, attached: tuple[AttachedNetwork, ...]) -> dict[str, int]:
        """What the profile says of a pod that takes a node."""
        if self.profile is None or self.profile.plugin is None or self.claims is not None:
            return {}
        return self.profile.plugin.requested(self.case.shape.rails, self.case.shape.gpus.count)

    def networks(self, rails: tuple[Rail, ...], addresses: AddressPlan) -> tuple[PlannedObject, ...]:
        """The template of the claim of all NICs of a node, of the cloud's own class, in every namespace; or nothing."""
        if self.claims is None:
            return ()
        exactly = dra.ExactRequest(device_class_name=self.claims.device_class, count=self.case.shape.rails)
        devices = dra.DeviceClaim(requests=(dra.DeviceRequest(name="nics", exactly=exactly),))
        spec = dra.ClaimTemplateSpec(spec=dra.ClaimSpec(devices=devices))
        name = template_name(self.case, "node")
        return tuple(
            PlannedObject(
                object=dra.ResourceClaimTemplate(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec),
                replaced_on=("spec",),
            )
            for namespace in self.network_namespaces
        )

    def network(self, rail: Rail, namespace: str, addresses: AddressPlan) -> PlannedObject:
        """Not called: rails have no networks."""
        raise LookupError(f"rail {rail.index} is the cloud's, and has no network in {namespace}")
