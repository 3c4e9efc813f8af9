"""What a cluster has of dynamic resource allocation (DRA): published devices, classes, claims, and who holds what.

Read are ResourceSlices, DeviceClasses, ResourceClaims and their templates of `resource.k8s.io`, in the newest version
that the API server serves. Source of the fields: k8s.io/api/resource/v1, v1beta2 and v1beta1 (Kubernetes 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.k8s.device_selector import DeviceFacts, Value
from gpu_fabric.live.cluster import Cluster, Json, collection, field, name_of

_GROUP = "resource.k8s.io"
_VERSIONS = ("v1", "v1beta2", "v1beta1")
# Taints with which the scheduler allocates a device to no claim that does not tolerate them.
_HINDERING = ("NoSchedule", "NoExecute")


class DeviceId(NamedTuple):
    """What an allocation names of a device."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return f"{self.pool}/{self.name}"


class Device(NamedTuple):
    """A device of a ResourceSlice; `node` is empty for one that several nodes reach.

    `published` is the name of its slice, `taints` are those that keep claims off it.
    """

    id: DeviceId
    node: str
    facts: DeviceFacts
    taints: tuple[Json, ...]
    published: str

    def text(self, attribute: str) -> str:
        """The value of an attribute as text; empty without it."""
        return str(self.facts.attributes.get(attribute, ""))


def version_served(cluster: Cluster) -> str | None:
    """The newest version of the API that is known here; None where the cluster serves none of them."""
    served = {str(entry.get("version")) for entry in field(cluster.get(f"/apis/{_GROUP}"), "versions") or ()}
    return next((version for version in _VERSIONS if version in served), None)


def is_readable(cluster: Cluster, plural: str, namespace: str | None = None) -> bool:
    """Whether the objects of a kind may be read, of an API that the cluster serves."""
    version = version_served(cluster)
    return version is not None and cluster.is_readable(collection(f"{_GROUP}/{version}", plural, namespace))


def objects(cluster: Cluster, plural: str, namespace: str | None = None) -> tuple[Json, ...]:
    """The objects of a kind of the API; none where the cluster does not serve it, or they may not be read."""
    version = version_served(cluster)
    return () if version is None else cluster.items(collection(f"{_GROUP}/{version}", plural, namespace))


def devices(cluster: Cluster) -> tuple[Device, ...]:
    """The devices of all pools of which every slice is there, since the scheduler allocates from no others."""
    rules = _taint_rules(cluster)
    return tuple(
        _device(item, entry, rules)
        for slices in _pools(cluster).values()
        if _is_whole(slices)
        for item in slices
        for entry in field(item, "spec", "devices") or ()
    )


def incomplete_pools(cluster: Cluster) -> tuple[str, ...]:
    """Pools of which a slice is missing, as `pool of driver`."""
    return tuple(f"{pool} of {driver}" for (driver, pool), slices in _pools(cluster).items() if not _is_whole(slices))


def holders(cluster: Cluster) -> dict[DeviceId, str]:
    """The claim that holds each allocated device, as `namespace/name`."""
    return {
        device: f"{field(claim, 'metadata', 'namespace')}/{name_of(claim)}"
        for claim in objects(cluster, "resourceclaims")
        for device in allocated(claim)
    }


def allocated(claim: Json) -> Iterator[DeviceId]:
    """The devices that a claim holds; those with administrative access are free for others."""
    for result in field(claim, "status", "allocation", "devices", "results") or ():
        if not result.get("adminAccess"):
            yield DeviceId(*(str(result.get(key)) for key in ("driver", "pool", "device")))


def _pools(cluster: Cluster) -> dict[tuple[str, str], list[Json]]:
    """The slices of each pool's newest generation, by driver and pool: older ones are of devices that changed."""
    found: dict[tuple[str, str], dict[int, list[Json]]] = {}
    for item in objects(cluster, "resourceslices"):
        pool = field(item, "spec", "pool") or {}
        of_pool = found.setdefault((str(field(item, "spec", "driver")), str(pool.get("name"))), {})
        of_pool.setdefault(int(pool.get("generation") or 0), []).append(item)
    return {pool: generations[max(generations)] for pool, generations in found.items()}


def _is_whole(slices: list[Json]) -> bool:
    return len(slices) >= int(field(slices[0], "spec", "pool", "resourceSliceCount") or 1)


def _taint_rules(cluster: Cluster) -> tuple[Json, ...]:
    """What administrators taint; versions of the API differ in whether they have the kind."""
    served = [str(entry.get("version")) for entry in field(cluster.get(f"/apis/{_GROUP}"), "versions") or ()]
    paths = (collection(f"{_GROUP}/{version}", "devicetaintrules") for version in served)
    return next((found for path in paths if (found := cluster.items(path))), ())


def _device(item: Json, entry: Json, rules: tuple[Json, ...]) -> Device:
    # v1beta1 has a level more.
    entry = {**entry, **(entry.get("basic") or {})}
    found = DeviceId(str(field(item, "spec", "driver")), str(field(item, "spec", "pool", "name")), str(entry["name"]))

    def named(key: str) -> str:
        return key if "/" in key else f"{found.driver}/{key}"

    attributes: dict[str, Value] = {
        named(key): next(iter(value.values())) for key, value in (entry.get("attributes") or {}).items() if value
    }
    capacity = {named(key): str(field(value, "value") or value) for key, value in (entry.get("capacity") or {}).items()}
    by_rules = [field(rule, "spec", "taint") or {} for rule in rules if _is_meant(found, rule)]
    taints = [*(entry.get("taints") or ()), *by_rules]
    return Device(
        found,
        str(field(item, "spec", "nodeName") or entry.get("nodeName") or ""),
        DeviceFacts(found.driver, attributes, capacity),
        tuple(taint for taint in taints if taint.get("effect") in _HINDERING),
        name_of(item),
    )


def _is_meant(device: DeviceId, rule: Json) -> bool:
    """Whether a rule taints a device; one that selects by class or expression is not judged."""
    selector = field(rule, "spec", "deviceSelector") or {}
    stated = {"driver": device.driver, "pool": device.pool, "device": device.name}
    return selector.keys() <= stated.keys() and all(stated[key] == value for key, value in selector.items())
