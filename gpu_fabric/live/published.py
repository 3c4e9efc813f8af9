"""What a cluster has of dynamic resource allocation (DRA): published devices, classes, claims, and who holds what.

Read are ResourceSlices, DeviceClasses, ResourceClaims and their templates of `resource.k8s.io`, in the newest version
that the API server serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.k8s.resource_slices import Device, DeviceId, devices_of, whole_pools
from gpu_fabric.live.cluster import Cluster, Json, api_path, field, name_of

_GROUP = "resource.k8s.io"
_TAINT_RULES = "devicetaintrules"
_VERSIONS = ("v1", "v1beta2", "v1beta1")


def version_served(cluster: Cluster) -> str | None:
    """The newest version of the API that is known here; None where the cluster serves none of them."""
    return next((version for version in _VERSIONS if version in _served(cluster)), None)


def is_readable(cluster: Cluster, plural: str, namespace: str | None = None) -> bool:
    """Whether the objects of a kind may be read, of an API that the cluster serves."""
    version = version_served(cluster)
    return version is not None and cluster.is_readable(api_path(f"{_GROUP}/{version}", plural, namespace))


def objects(cluster: Cluster, plural: str, namespace: str | None = None) -> tuple[Json, ...]:
    """The objects of a kind of the API; none where the cluster does not serve it, or they may not be read."""
    version = version_served(cluster)
    return () if version is None else cluster.items(api_path(f"{_GROUP}/{version}", plural, namespace))


def devices(cluster: Cluster) -> tuple[Device, ...]:
    """The devices from which claims are allocated, with the taints of administrators."""
    return tuple(devices_of(objects(cluster, "resourceslices"), taint_rules(cluster)))


def taint_rules(cluster: Cluster) -> tuple[Json, ...]:
    """The DeviceTaintRules of the cluster; versions of the API differ in whether they have the kind."""
    paths = (api_path(f"{_GROUP}/{version}", _TAINT_RULES) for version in _served(cluster))
    return next((found for path in paths if (found := cluster.items(path))), ())


def serves_taint_rules(cluster: Cluster) -> bool:
    """Whether the API server serves DeviceTaintRules, in whatever version."""
    listed = (cluster.get(f"/apis/{_GROUP}/{version}") for version in _served(cluster))
    return any(entry.get("name") == _TAINT_RULES for found in listed for entry in field(found, "resources") or ())


def _served(cluster: Cluster) -> list[str]:
    return [str(entry.get("version")) for entry in field(cluster.get(f"/apis/{_GROUP}"), "versions") or ()]


def incomplete_pools(cluster: Cluster) -> tuple[str, ...]:
    """Pools of which a slice is missing, as `pool of driver`."""
    return whole_pools(objects(cluster, "resourceslices"))[1]


class Holder(NamedTuple):
    """The claim that holds a device, as `namespace/name`, and the DeviceClass by which it asked for it."""

    claim: str
    device_class: str


def holders(cluster: Cluster) -> dict[DeviceId, Holder]:
    """Who holds each allocated device; those with administrative access are free for others."""
    found = {}
    for claim in objects(cluster, "resourceclaims"):
        name = f"{field(claim, 'metadata', 'namespace')}/{name_of(claim)}"
        classes = dict(_classes(claim))
        for result in field(claim, "status", "allocation", "devices", "results") or ():
            if not result.get("adminAccess"):
                device = DeviceId(*(str(result.get(key)) for key in ("driver", "pool", "device")))
                found[device] = Holder(name, classes.get(str(result.get("request")), ""))
    return found


def _classes(claim: Json) -> Iterator[tuple[str, str]]:
    """The DeviceClass of each request of a claim, as results name requests: `gpu`, or `gpu/large` of alternatives."""
    for row in field(claim, "spec", "devices", "requests") or ():
        # v1beta1 has no level `exactly`.
        yield str(row.get("name")), str((row.get("exactly") or row).get("deviceClassName"))
        for one in row.get("firstAvailable") or ():
            yield f"{row.get('name')}/{one.get('name')}", str(one.get("deviceClassName"))
