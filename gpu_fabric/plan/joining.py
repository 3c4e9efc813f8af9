"""The steps of several fabrics as those of one stack: what all of them need is applied once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import BaseModel

from gpu_fabric.k8s.core import Namespace
from gpu_fabric.k8s.device_plugin import SriovDevicePluginConfig
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.devices import PlannedNodes, planned_nodes
from gpu_fabric.plan.fabrics import display_name
from gpu_fabric.plan.records import (
    Conflict,
    HelmRelease,
    Item,
    PlannedAdoption,
    PlannedObject,
    PlannedPatch,
    PlannedReadiness,
    PlannedSharing,
)
from gpu_fabric.plan.steps import Context, Step

# Objects of a stack that each fabric adds to; two fabrics can only have the same of any other.
_SHARED = (NicClusterPolicy, NicNodePolicy, Namespace)


class Joined(NamedTuple):
    """The steps of all fabrics, and why they cannot be those of one stack; empty where they can."""

    steps: tuple[Step, ...]
    conflicts: tuple[Conflict, ...]


def with_joint_plugins(contexts: Sequence[Context]) -> list[Context]:
    """The contexts of a stack's fabrics, each with the device plug-ins' configurations of all of them.

    A plug-in serves all fabrics on a node. It has one configuration for all nodes if that of every node group is the
    same, and else one for each node group.
    """
    compute = [context.case for context in contexts if context.case.purpose == "compute"]
    groups = [_planned_nodes(case, group) for case in compute for group in case.groups]
    configurations = {(group.sriov_plugin, group.shared_plugin) for group in groups}
    virtual, shared = next(iter(configurations)) if len(configurations) == 1 else (None, None)
    own = (
        ()
        if len(configurations) == 1
        else tuple(entry for entry in groups if entry.sriov_plugin or entry.shared_plugin)
    )
    return [replace(context, sriov_plugin=virtual, shared_plugin=shared, node_groups=own) for context in contexts]


def _planned_nodes(case: Case, group: NodeGroup) -> PlannedNodes:
    """A node group with the device plug-ins' configurations of its compute fabric and of its storage fabrics."""
    every = [planned_nodes(case, group), *_storage_nodes(case, group)]
    virtual = [entry.sriov_plugin for entry in every if entry.sriov_plugin is not None]
    shared = [entry.shared_plugin for entry in every if entry.shared_plugin is not None]
    resources = tuple(resource for config in virtual for resource in config.resource_list)
    configured = tuple(resource for config in shared for resource in config.config_list)
    changes = {
        "sriov_plugin": SriovDevicePluginConfig(resource_list=resources) if virtual else None,
        "shared_plugin": shared[0].model_copy(update={"config_list": configured}) if shared else None,
    }
    return every[0].model_copy(update=changes)


def _storage_nodes(case: Case, group: NodeGroup) -> Iterator[PlannedNodes]:
    pools = {pool.name for pool in case.spec.cluster.pools if pool.shape == group.shape.name}
    for storage in case.storage:
        on_nodes = {pool.shape for pool in storage.spec.cluster.pools if pool.name in pools}
        yield from (planned_nodes(storage, other) for other in storage.groups if other.shape.name in on_nodes)


def joined_steps(fabrics: Sequence[tuple[str, Sequence[Step]]]) -> Joined:
    """The steps of fabrics by name, with the items of each once; where fabrics differ, the first one's value stays."""
    found: dict[str, Step] = {}
    owners: dict[tuple[str, str], str] = {}
    conflicts: list[Conflict] = []
    for fabric, steps in fabrics:
        for step in steps:
            before = found.get(step.name)
            own = {item_key(item): item for item in step.items}
            items = {item_key(item): item for item in ([] if before is None else before.items)}
            for key, item in own.items():
                if key in items:
                    differing: list[str] = []
                    items[key] = _both(items[key], item, differing)
                    names = display_name(owners[step.name, key]), display_name(fabric)
                    conflicts += [Conflict(key, place, *names) for place in differing]
                else:
                    items[key] = item
                    owners[step.name, key] = fabric
            words = step.words if before is None else before.words
            if before is not None and len(items) > len(before.items):
                words = (
                    *words,
                    *(line.model_copy(update={"title": f"{line.title} ({fabric})"}) for line in step.words),
                )
            after = step.after
            if before is not None:
                after = (*before.after, *(name for name in step.after if name not in before.after))
            found[step.name] = step.model_copy(
                update={
                    "items": tuple(items.values()),
                    "after": after,
                    "in_order": step.in_order or (before is not None and before.in_order),
                    "words": words,
                }
            )
    return Joined(tuple(found.values()), tuple(conflicts))


def item_key(item: Item) -> str:
    """What an item is, in words that no other item of its step has."""
    if isinstance(item, PlannedObject):
        namespace = item.object.metadata.namespace
        return f"{item.object.kind} {f'{namespace}/' if namespace else ''}{item.name}"
    if isinstance(item, HelmRelease):
        return f"chart {item.name}"
    if isinstance(item, PlannedSharing):
        return "what the cluster must have"
    if isinstance(item, PlannedReadiness | PlannedPatch | PlannedAdoption):
        return f"{item.kind} {item.name}"
    # All others are the same for several fabrics, or are of one fabric alone.
    return f"{type(item).__name__} {item.model_dump_json()}"


def _both(first: Item, second: Item, differing: list[str]) -> Item:
    """An item that serves two fabrics; the places of which it cannot are added to `differing`."""
    if first == second:
        return first
    changes: dict[str, Any] = {}
    for field in type(first).model_fields:
        ours, theirs = getattr(first, field), getattr(second, field)
        if ours == theirs:
            continue
        if field == "timeout":
            changes[field] = max(ours, theirs)
        elif field == "object" and not isinstance(ours, _SHARED):
            differing.append(next(iter(_differing(ours.manifest(), theirs.manifest(), ""))))
        else:
            changes[field] = _merged(ours, theirs, "" if field in ("object", "values", "spec") else field, differing)
    return first.model_copy(update=changes)


def _merged(ours: Any, theirs: Any, place: str, differing: list[str]) -> Any:
    """Both values in one: mappings by key, records of a list by name, other lists without what is there twice.

    A value that one of them lacks is the other's.
    """
    if ours == theirs or theirs is None:
        return ours
    if ours is None:
        return theirs
    if isinstance(ours, BaseModel) and type(ours) is type(theirs):
        fields = {name: (getattr(ours, name), getattr(theirs, name)) for name in type(ours).model_fields}
        merged = {name: _merged(*pair, f"{place}.{name}".lstrip("."), differing) for name, pair in fields.items()}
        return ours.model_copy(update=merged)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = {**ours, **theirs}
        return {key: _merged(ours.get(key), theirs.get(key), f"{place}.{key}".lstrip("."), differing) for key in keys}
    if isinstance(ours, tuple) and all(hasattr(entry, "name") for entry in (*ours, *theirs)):
        named = [{entry.name: entry for entry in entries} for entries in (ours, theirs)]
        return tuple(
            _merged(named[0].get(name), named[1].get(name), place, differing) for name in {**named[0], **named[1]}
        )
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return type(ours)((*ours, *(entry for entry in theirs if entry not in ours)))
    differing.append(place)
    return ours


def _differing(ours: Any, theirs: Any, place: str) -> Iterable[str]:
    """The places in which two manifests differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            yield from _differing(ours.get(key), theirs.get(key), f"{place}.{key}".lstrip("."))
    elif ours != theirs:
        yield place
