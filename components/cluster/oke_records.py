"""The plan's records as resources, each after all that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.cluster.oke_advice import advising
from components.cluster.oke_lookups import Lookups
from components.cluster.oke_values import known_later, plugin_version, value_at
from components.engine_options import handled
from fabric.plan.clouds.oke import OkeResources, Record, Ref
from fabric.resources.oke import oke_resources
from fabric.resources.resource import Resource
from fabric.resources.wire import oci_type, wire_name

# What Oracle adds to what it is told, by type, as far as something refers to it.
_OUTPUTS = {
    oci_type("containerengine.Cluster"): ("endpoints",),
    oci_type("core.Instance"): ("privateIp", "publicIp"),
    oci_type("core.Vcn"): ("defaultSecurityListId",),
}
# The network's records all at once.
_NETWORK = "network"
_HOST = "apiserver_host"


@dataclass(frozen=True)
class Providers:
    """The provider of the cluster's region, and that of the tenancy's home region."""

    region: pulumi.ProviderResource
    home: pulumi.ProviderResource


class RecordedResource(pulumi.CustomResource):
    """One record at Oracle; its other outputs are under the provider's names."""

    def __init__(self, resource: Resource, properties: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        asked = {**dict.fromkeys(_OUTPUTS.get(resource.type, ())), **properties}
        self.planned_name = resource.name
        super().__init__(resource.type, resource.name, asked, opts)

    def output(self, path: str) -> pulumi.Output[Any]:
        """One of the outputs, or a part of one."""
        if path == "id":
            return self.id
        name, _, rest = path.replace("[", ".[").partition(".")
        found: pulumi.Output[Any] = getattr(self, wire_name(name))
        return found.apply(lambda value: value_at(value, rest))


class RecordedResources:
    """The records of a cluster, registered in the plan's order under a component's name."""

    def __init__(
        self, name: str, planned: OkeResources, providers: Providers, parent: pulumi.Resource, tenancy: str | None
    ) -> None:
        self._providers = providers
        self._parent = parent
        self._made: dict[str, RecordedResource] = {}
        self._lookups = Lookups(planned.lookups, providers.region, self.of, tenancy)
        self._network = tuple(record.logical_name for record in planned.network.records)
        self._hooks = pulumi.ResourceHookBinding(on_error=[advising(name, planned)])
        for record, resource in zip(planned.records, oke_resources(name, planned), strict=True):
            self._made[record.logical_name] = self._register(record, resource)

    def __getitem__(self, logical_name: str) -> RecordedResource:
        return self._made[logical_name]

    def of(self, ref: Ref, shape: str = "") -> pulumi.Input[Any]:
        """What a reference stands for; an image is one for a machine of this shape."""
        if ref.ref in self._lookups:
            return self._lookups.output(ref, shape)
        made = self._made[ref.ref]
        if ref.output == _HOST:
            return made.output("endpoints[0].private_endpoint").apply(lambda address: address.rpartition(":")[0])
        return made.output(ref.output)

    def _register(self, record: Record, resource: Resource) -> RecordedResource:
        shape = str(record.arguments.get("node_shape", ""))
        properties = known_later(resource.properties, lambda ref: self.of(ref, shape))
        before = [name for entry in record.after for name in (self._network if entry == _NETWORK else (entry,))]
        options = pulumi.ResourceOptions(
            parent=self._parent,
            provider=self._providers.home if record.in_home_region else self._providers.region,
            depends_on=[self._made[name] for name in before],
            version=plugin_version(),
            hooks=self._hooks,
        )
        by_name = {made.planned_name: made for made in self._made.values()}
        return RecordedResource(resource, properties, handled(options, resource.handling, by_name))
