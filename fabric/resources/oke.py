"""What Oracle is asked for, as resources."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.plan.clouds.oke import OkeResources, Record
from fabric.resources.resource import Handling, Resource, Timeouts
from fabric.resources.wire import oci_type, wire_name, wire_properties

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


def oke_resources(component: str, planned: OkeResources) -> Iterator[Resource]:
    """Every record, in the order in which they can be made."""
    addons = {record.logical_name for record in planned.addons}
    for record in planned.records:
        # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
        goes_along = record.logical_name in addons and not planned.protect
        yield Resource(
            component=component,
            name=f"{component}-{record.logical_name}",
            type=oci_type(record.kind),
            properties=wire_properties(record.arguments),
            provider=home_provider(component, planned) if record.in_home_region else region_provider(component),
            handling=Handling(
                protect=record.protect,
                delete_before_replace=record.kind in _CLASHING,
                ignore_changes=tuple(wire_name(name) for name in record.ignore_changes),
                timeouts=_timeouts(record),
                deleted_with=f"{component}-{planned.cluster.logical_name}" if goes_along else None,
            ),
        )


def region_provider(component: str) -> str:
    """The name of the provider of the cluster's region."""
    return f"{component}-oci"


def home_provider(component: str, planned: OkeResources) -> str:
    """The name of the provider of the tenancy's home region, which may be the cluster's own."""
    return region_provider(component) + ("" if planned.home_region == planned.region else "-home")


def _timeouts(record: Record) -> Timeouts:
    return Timeouts(create=record.create_timeout, update=record.update_timeout, delete=record.delete_timeout)
