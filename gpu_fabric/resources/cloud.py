"""Resources at a cloud, and the types and names of arguments as their providers expect them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_fabric.plan.clouds.record import CloudResources
from gpu_fabric.resources.resource import Handling, Resource, Timeouts

_MODULES = {
    "bastion": "oci:Bastion",
    "containerengine": "oci:ContainerEngine",
    "core": "oci:Core",
    "digitalocean": "digitalocean:index",
    "identity": "oci:Identity",
}
# Arguments whose keys come from the user or the machine, and are not the provider's names.
_FREE_MAPS = frozenset({"labels", "metadata", "node_metadata"})


def wire_type(kind: str) -> str:
    """The provider's type of a record's kind, such as core.Vcn."""
    module, _, name = kind.partition(".")
    return f"{_MODULES[module]}/{name[0].lower()}{name[1:]}:{name}"


def wire_function(function: str) -> str:
    """The provider's token of a function, such as core.get_services."""
    module, _, name = function.partition(".")
    return f"{_MODULES[module]}/{wire_name(name)}:{wire_name(name)}"


def wire_name(name: str) -> str:
    """A name, or each part of a dotted path, in the provider's spelling."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def wire_properties(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the provider's names."""
    return {
        wire_name(name): dict(value) if name in _FREE_MAPS and isinstance(value, Mapping) else wire_property(value)
        for name, value in arguments.items()
    }


def wire_property(value: Any) -> Any:
    """A value whose keys have the provider's names, at any depth."""
    if isinstance(value, Mapping):
        return wire_properties(value)
    if isinstance(value, list | tuple):
        return [wire_property(entry) for entry in value]
    return value


def cloud_resources(component: str, planned: CloudResources) -> Iterator[Resource]:
    """Every record as a resource, in the order in which they can be created."""
    for record in planned.records:
        # If `protect` aborts a destroy, deletedWith would already have dropped existing objects from the state.
        deleted_with_cluster = record.on_cluster and not planned.protect
        yield Resource(
            component=component,
            name=f"{component}-{record.logical_name}",
            type=wire_type(record.kind),
            properties=wire_properties(record.arguments),
            provider=f"{component}-{planned.provider(record)}",
            handling=Handling(
                protect=record.protect,
                delete_before_replace=record.clashes,
                ignore_changes=tuple(wire_name(name) for name in record.ignore_changes),
                adopts=record.adopts,
                timeouts=Timeouts(
                    create=record.create_timeout, update=record.update_timeout, delete=record.delete_timeout
                ),
                deleted_with=f"{component}-{planned.cluster.logical_name}" if deleted_with_cluster else None,
            ),
        )
