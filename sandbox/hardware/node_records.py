"""Records of simulated nodes, the patches for their changes, and their SriovNetworkNodeStates: pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpu_fabric.k8s.base import compact_json
from sandbox.hardware.device_plugins import annotations_of
from sandbox.hardware.inventory import INVENTORY_ANNOTATION, SimulatedDevice, annotation_of, devices_of
from sandbox.hardware.operands import owner_reference

Object = dict[str, Any]

ADVERTISED_ANNOTATION = "sandbox.gpu-fabric/advertised"
"""On a node: the resources that were advertised, so that they can be withdrawn after a restart."""


@dataclass(frozen=True)
class SriovWorld:
    """The objects in an SR-IOV operator's own namespace, which hold for all nodes."""

    prefix: str = ""
    policies: tuple[Object, ...] = ()
    pools: tuple[Object, ...] = ()


@dataclass(frozen=True)
class World:
    """The inputs that are equal for all nodes.

    `drivers` holds the node selectors of policies that install a NIC driver; None while no NicClusterPolicy is active.
    `sriov` is by namespace, for every SR-IOV operator and wherever its objects are; `networks` are the
    NetworkAttachmentDefinitions as namespace/name.
    """

    drivers: tuple[Mapping[str, str], ...] | None = None
    config_maps: Mapping[str, Object] = field(default_factory=dict)
    sriov: Mapping[str, SriovWorld] = field(default_factory=dict)
    networks: frozenset[str] = frozenset()


@dataclass
class StateChange:
    """What is to change in a SriovNetworkNodeState; None where it stays."""

    spec: Object | None = None
    status: Object | None = None


@dataclass
class Outcome:
    """Changes to the node's labels, annotations and resources, to pods by key, and to SriovNetworkNodeStates.

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
    states: dict[str, StateChange] = field(default_factory=dict)
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


ASKED_ANNOTATION = "sandbox.gpu-fabric/asked"
"""On a node's state: its spec as JSON, whatever part of it the installed definition keeps."""

_STATUS_FIELDS = ("syncStatus", "lastSyncError", "interfaces", "system")
_SEEN = ("interfaces", "system")


def asked_of(state: Mapping[str, Any] | None) -> Object:
    """The `spec` of a node's state; empty while the node has no state."""
    text = annotations_of(state).get(ASKED_ANNOTATION) if state is not None else None
    asked: Object = json.loads(text) if text is not None else {}
    return asked


def status_of_sync(state: Mapping[str, Any] | None) -> Object:
    """Where the sync of a node is, without what is empty."""
    status = (state or {}).get("status") or {}
    return {field: status[field] for field in _STATUS_FIELDS if status.get(field)}


def state_of_node(name: str, config: Mapping[str, Any], spec: Object) -> Object:
    """The object with a node's `spec`; the operator's configuration owns it, so it is deleted with that."""
    return {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkNodeState",
        "metadata": {
            "name": name,
            "namespace": config["metadata"]["namespace"],
            "annotations": {ASKED_ANNOTATION: compact_json(spec)},
            "ownerReferences": [owner_reference(config)],
        },
        "spec": spec,
    }


def status_body(status: Mapping[str, Any]) -> Object:
    """The merge patch that sets a state's status: a field that is not given is removed, but what was seen stays."""
    cleared = {field: None for field in _STATUS_FIELDS if field not in _SEEN}
    return {"status": {**cleared, **status}}
