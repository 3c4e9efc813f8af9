"""The plan's records as resources, each after all that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.cluster.oke_lookups import Lookups
from components.cluster.oke_values import plugin_version, resource_token, value_at, wire_arguments, wire_name
from fabric.plan.clouds.oke import OkeResources, Record, Ref

# Of whatever has one of these there cannot be two of the same name, or the same range, at a time.
_CLASHING = frozenset(
    {
        "containerengine.Addon",
        "core.Subnet",
        "identity.DomainsDynamicResourceGroup",
        "identity.DynamicGroup",
        "identity.Policy",
    }
)
# What Oracle adds to what it is told, by kind, as far as something refers to it.
_OUTPUTS = {
    "containerengine.Cluster": ("endpoints",),
    "core.Instance": ("privateIp", "publicIp"),
    "core.Vcn": ("defaultSecurityListId",),
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

    def __init__(self, name: str, kind: str, arguments: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        asked = {**dict.fromkeys(_OUTPUTS.get(kind, ())), **arguments}
        super().__init__(resource_token(kind), name, asked, opts)

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
        self._name = name
        self._planned = planned
        self._providers = providers
        self._parent = parent
        self._made: dict[str, RecordedResource] = {}
        self._lookups = Lookups(planned.lookups, providers.region, self.of, tenancy)
        self._network = tuple(record.logical_name for record in planned.network.records)
        self._addons = frozenset(record.logical_name for record in planned.addons)
        for record in planned.records:
            self._made[record.logical_name] = self._register(record)

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

    def _register(self, record: Record) -> RecordedResource:
        shape = str(record.arguments.get("node_shape", ""))
        return RecordedResource(
            f"{self._name}-{record.logical_name}",
            record.kind,
            wire_arguments(record.arguments, lambda ref: self.of(ref, shape)),
            self._options(record),
        )

    def _options(self, record: Record) -> pulumi.ResourceOptions:
        before = [name for entry in record.after for name in (self._network if entry == _NETWORK else (entry,))]
        timeouts = pulumi.CustomTimeouts(record.create_timeout, record.update_timeout, record.delete_timeout)
        given = (record.create_timeout, record.update_timeout, record.delete_timeout) != (None, None, None)
        cluster = self._made.get(self._planned.cluster.logical_name)
        # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
        goes_along = record.logical_name in self._addons and not self._planned.protect
        return pulumi.ResourceOptions(
            parent=self._parent,
            provider=self._providers.home if record.in_home_region else self._providers.region,
            depends_on=[self._made[name] for name in before],
            ignore_changes=[wire_name(name) for name in record.ignore_changes],
            custom_timeouts=timeouts if given else None,
            protect=record.protect,
            delete_before_replace=record.kind in _CLASHING,
            deleted_with=cluster if goes_along else None,
            version=plugin_version(),
        )
