"""The plan's records of a cloud as resources, each after those that it needs.

The clouds' Python packages are not imported: that takes seconds and up to 100 MB, and their classes send the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pulumi.output import UNKNOWN

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.record import CloudResources, Record, Ref, Text
from gpu_fabric.resources.cloud import cloud_resources, wire_name, wire_type
from gpu_fabric.resources.resource import Leaf, Resource, replace_leaves

from ..engine.registration import add_handling
from .handle import Resources

# Outputs that something refers to, by type.
_OUTPUTS = {
    wire_type("containerengine.Cluster"): ("endpoints",),
    wire_type("core.Instance"): ("privateIp", "publicIp"),
    wire_type("core.Vcn"): ("defaultSecurityListId",),
    wire_type("digitalocean.KubernetesCluster"): ("clusterUrn", "endpoint", "kubeConfigs"),
}
_SECRET_OUTPUTS = {wire_type("digitalocean.KubernetesCluster"): ["kubeConfigs"]}
_HOST = "apiserver_host"

References = Callable[[Ref], pulumi.Input[Any]]
"""The value of a reference: an output of a record, or the answer to a look-up."""

Answers = Callable[[Ref, Record | None, References], pulumi.Input[Any] | None]
"""The answer to the look-up that a reference in a record is to; None if it is not to a look-up."""


class RecordedResource(pulumi.CustomResource):
    """One record as a resource; its outputs have the provider's names."""

    def __init__(self, resource: Resource, properties: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        asked = {**dict.fromkeys(_OUTPUTS.get(resource.type, ())), **properties}
        self.planned_name = resource.name
        super().__init__(resource.type, resource.name, asked, opts)

    def output(self, path: str) -> pulumi.Output[Any]:
        """An output, or a part of one."""
        if path == "id":
            return self.id
        name, _, rest = path.replace("[", ".[").partition(".")
        found: pulumi.Output[Any] = getattr(self, wire_name(name))
        return found.apply(lambda value: value_at(value, rest))


class RecordedResources:
    """The records of a cluster, registered in the plan's order under a component's name.

    `providers` are the plan's providers by name; `hooks` gives the error hooks of a record. All of them come after the
    resources in `after`.
    """

    def __init__(
        self,
        name: str,
        planned: CloudResources,
        providers: Mapping[str, pulumi.ProviderResource],
        parent: pulumi.Resource,
        *,
        plugin: str,
        answers: Answers,
        hooks: Callable[[Record], pulumi.ResourceHookBinding | None],
        after: Resources = (),
    ) -> None:
        self._answers = answers
        self._registered: dict[str, RecordedResource] = {}
        by_name: dict[str, pulumi.Resource] = {}
        for record, resource in zip(planned.records, cloud_resources(name, planned), strict=True):
            options = pulumi.ResourceOptions(
                parent=parent,
                provider=providers[resource.provider],
                depends_on=[*after, *(self._registered[entry] for entry in planned.before(record))],
                version=PLUGIN_VERSIONS[plugin],
                hooks=hooks(record),
                additional_secret_outputs=_SECRET_OUTPUTS.get(resource.type),
            )
            properties = resolve_references(resource.properties, lambda ref, record=record: self.of(ref, record))  # type: ignore[misc]
            registered = RecordedResource(resource, properties, add_handling(options, resource.handling, by_name))
            self._registered[record.logical_name] = by_name[resource.name] = registered

    def __getitem__(self, logical_name: str) -> RecordedResource:
        return self._registered[logical_name]

    def of(self, ref: Ref, record: Record | None = None) -> pulumi.Input[Any]:
        """The value of a reference in a record, or elsewhere."""
        if (answer := self._answers(ref, record, self.of)) is not None:
            return answer
        resource = self._registered[ref.ref]
        if ref.output == _HOST:
            return resource.output("endpoints[0].private_endpoint").apply(lambda address: address.rpartition(":")[0])
        return resource.output(ref.output)


def resolve_references(value: Any, references: References) -> Any:
    """A value with outputs in the place of references."""

    def known(leaf: Leaf) -> Any:
        if isinstance(leaf, Ref):
            return references(leaf)
        assert isinstance(leaf, Text), "a cloud is sent no secret of the stack's"
        words = pulumi.Output.all(**{name: references(ref) for name, ref in leaf.refs.items()})
        text = leaf.text
        return words.apply(lambda found: text.format(**found))

    return replace_leaves(value, known)


def value_at(value: Any, path: str) -> Any:
    """The value at a path within an output, such as `[0].private_endpoint`, by the provider's names."""
    for part in re.findall(r"\w+", path):
        value = value[int(part)] if part.isdecimal() else value[wire_name(part)]
    return value


def not_known_yet() -> pulumi.Output[Any]:
    """A value that only `up` knows, as the answer to a look-up whose provider a preview cannot configure."""
    return pulumi.Output.from_input(UNKNOWN)
