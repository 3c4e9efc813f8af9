"""ResourceSlices: the devices that DRA drivers have published.

Source of the fields: k8s.io/api/resource/v1, v1beta2 and v1beta1 (Kubernetes 1.36). Fields of an unexpected form count
as missing, since slices are also read from files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.base.api_objects import mapping
from gpu_fabric.k8s.device_selector import DeviceFacts, Value

Object = Mapping[str, Any]
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
    taints: tuple[Object, ...]
    published: str

    def text(self, attribute: str) -> str:
        """The value of an attribute as text; empty without it."""
        return str(self.facts.attributes.get(attribute, ""))


def whole_pools(slices: Iterable[Object]) -> tuple[list[list[Object]], tuple[str, ...]]:
    """The slices of each pool's newest generation, and, as `pool of driver`, the pools of which a slice is missing.

    Older generations are of devices that changed, and from a pool without all its slices nothing is allocated.
    """
    found: dict[tuple[str, str], dict[int, list[Object]]] = {}
    for item in slices:
        spec = mapping(item, "spec")
        pool = mapping(spec, "pool")
        generations = found.setdefault((str(spec.get("driver")), str(pool.get("name"))), {})
        generations.setdefault(_number(pool.get("generation")), []).append(item)
    newest = {pool: generations[max(generations)] for pool, generations in found.items()}
    wanted = {
        pool: _number(mapping(items[0], "spec", "pool").get("resourceSliceCount")) for pool, items in newest.items()
    }
    lacking = {pool for pool, items in newest.items() if len(items) < wanted[pool]}
    return (
        [items for pool, items in newest.items() if pool not in lacking],
        tuple(f"{pool} of {driver}" for driver, pool in sorted(lacking)),
    )


def devices_of(slices: Iterable[Object], taint_rules: Sequence[Object] = ()) -> Iterator[Device]:
    """The devices of whole pools, with the taints that DeviceTaintRules add."""
    for items in whole_pools(slices)[0]:
        for item in items:
            for entry in rows(mapping(item, "spec").get("devices")):
                yield _device(item, entry, taint_rules)


def _device(item: Object, entry: Object, taint_rules: Sequence[Object]) -> Device:
    # v1beta1 has a level more.
    entry, spec = {**entry, **mapping(entry, "basic")}, mapping(item, "spec")
    found = DeviceId(str(spec.get("driver")), str(mapping(spec, "pool").get("name")), str(entry.get("name")))

    def named(key: str) -> str:
        return key if "/" in key else f"{found.driver}/{key}"

    attributes: dict[str, Value] = {
        named(key): value
        for key, typed in mapping(entry, "attributes").items()
        for value in (typed.values() if isinstance(typed, Mapping) else ())
        if isinstance(value, str | int)
    }
    capacity = {named(key): str(mapping(of).get("value")) for key, of in mapping(entry, "capacity").items()}
    by_rules = [mapping(rule, "spec", "taint") for rule in taint_rules if _is_meant(found, rule)]
    return Device(
        found,
        str(spec.get("nodeName") or entry.get("nodeName") or ""),
        DeviceFacts(found.driver, attributes, capacity),
        tuple(taint for taint in (*rows(entry.get("taints")), *by_rules) if taint.get("effect") in _HINDERING),
        str(mapping(item, "metadata").get("name")),
    )


def _is_meant(device: DeviceId, rule: Object) -> bool:
    """Whether a rule taints a device; one that selects by class or expression is not judged."""
    selector = mapping(rule, "spec", "deviceSelector")
    stated = {"driver": device.driver, "pool": device.pool, "device": device.name}
    return selector.keys() <= stated.keys() and all(stated[key] == value for key, value in selector.items())


def rows(value: Any) -> list[Object]:
    """The mappings of a list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 1
