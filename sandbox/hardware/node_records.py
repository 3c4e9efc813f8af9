"""Records of simulated nodes, the patches for their changes, and their SriovNetworkNodeStates: pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpu_fabric.k8s.base import compact_json
from .device_plugins import annotations_of
from .inventory import INVENTORY_ANNOTATION, SimulatedDevice, annotation_of, devices_of

Object = dict[str, Any]

ADVERTISED_ANNOTATION = "sandbox.gpu-fabric/advertised"
"""On a node: the resources that were advertised, so that they can be withdrawn after a restart."""


@dataclass(frozen=True)
class World:
    """The inputs that are equal for all nodes.

    `drivers` holds the node selectors of policies that install a NIC driver; None while no NicClusterPolicy is active.
    `networks` are the NetworkAttachmentDefinitions as namespace/name. `nic_configurations` and `nic_names` are the
    templates of the NIC Configuration Operator.
    """

    drivers: tuple[Mapping[str, str], ...] | None = None
    config_maps: Mapping[str, Object] = field(default_factory=dict)
    networks: frozenset[str] = frozenset()
    nic_configurations: tuple[Object, ...] = ()
    nic_names: tuple[Object, ...] = ()


@dataclass
class Outcome:
    """Changes to the node's labels, annotations and resources, to pods by key, and statuses of SriovNetworkNodeStates.

    `loads` are the configurations of plug-ins that start now, `ready` the pods to be marked ready, `restarts` the pods
    to be deleted, and `restarted` the pods whose container has restarted; `states` is by the operator's namespace;
    `waits` is true while a sync is in progress, and `failures` are the reasons why pods do not start.
    """

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    loads: dict[str, Mapping[str, int]] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    restarted: set[str] = field(default_factory=set)
    states: dict[str, Object] = field(default_factory=dict)
    waits: bool = False
    failures: dict[str, str] = field(default_factory=dict)


def devices_on(node: Mapping[str, Any]) -> tuple[SimulatedDevice, ...]:
    """A node's devices. Raises pydantic.ValidationError (a ValueError) where the inventory cannot be read."""
    return _parsed(annotations_of(node).get(INVENTORY_ANNOTATION, "[]"))


# Nodes of one shape share their inventory's text.
@lru_cache(maxsize=32)
def _parsed(inventory: str) -> tuple[SimulatedDevice, ...]:
    return devices_of({INVENTORY_ANNOTATION: inventory})


def change_devices(node: Mapping[str, Any], devices: Sequence[SimulatedDevice], outcome: Outcome) -> None:
    """Note that a node has these devices from now on."""
    if devices != devices_on(node):
        outcome.annotations |= annotation_of(devices)


def node_after(node: Mapping[str, Any], outcome: Outcome) -> Object:
    """The node with the annotations that it is about to get."""
    annotations = {**annotations_of(node), **outcome.annotations}
    kept = {name: text for name, text in annotations.items() if text is not None}
    return {**node, "metadata": {**node["metadata"], "annotations": kept}}


def node_patch(node: Mapping[str, Any], outcome: Outcome) -> Object:
    """The strategic merge patch with a node's changes; empty when nothing changes.

    Resources that were advertised before and are no longer are removed; all others are left alone.
    """
    remembered = json.loads(annotations_of(node).get(ADVERTISED_ANNOTATION, "[]"))
    quantities: dict[str, str | None] = {name: _quantity(count) for name, count in outcome.resources.items()}
    quantities |= {name: None for name in remembered if name not in outcome.resources}
    annotations = dict(outcome.annotations)
    if sorted(outcome.resources) != remembered:
        annotations[ADVERTISED_ANNOTATION] = compact_json(sorted(outcome.resources))
    patch: Object = {}
    for part in ("capacity", "allocatable"):
        present = (node.get("status") or {}).get(part) or {}
        different = {name: value for name, value in quantities.items() if present.get(name) != value}
        if different:
            patch.setdefault("status", {})[part] = different
    for part, changed in (("labels", outcome.labels), ("annotations", annotations)):
        if changed:
            patch.setdefault("metadata", {})[part] = changed
    return patch


def _quantity(count: int) -> str:
    """A number as Kubernetes gives it back, whichever way it was written: 1000 is 1k."""
    for suffix in ("", "k", "M"):
        if count == 0 or count % 1000:
            return f"{count}{suffix}"
        count //= 1000
    return f"{count}G"


_STATUS_FIELDS = ("syncStatus", "lastSyncError", "interfaces", "system")
_SEEN = ("interfaces", "system")


def status_of_sync(state: Mapping[str, Any] | None) -> Object:
    """Where the sync of a node is, without what is empty."""
    status = (state or {}).get("status") or {}
    return {field: status[field] for field in _STATUS_FIELDS if status.get(field)}


def status_body(status: Mapping[str, Any]) -> Object:
    """The merge patch that sets a state's status: a field that is not given is removed, but what was seen stays."""
    cleared = {field: None for field in _STATUS_FIELDS if field not in _SEEN}
    return {"status": {**cleared, **status}}
