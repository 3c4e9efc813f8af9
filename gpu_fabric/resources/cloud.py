"""Resources at a cloud."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.clouds.record import CloudResources
from gpu_fabric.resources.resource import Handling, Resource, Timeouts
from gpu_fabric.resources.wire import wire_name, wire_properties, wire_type


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
