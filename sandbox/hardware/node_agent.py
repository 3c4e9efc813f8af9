"""What happens on one simulated node: a pure function of the node, its pods and the policies to the changes there.

It plays the drivers' label, this stack's DaemonSet for virtual functions, the SR-IOV operator's config daemon, and the
device plug-ins as the kubelet sees them. Everything it has to remember is in the cluster: what a plug-in has loaded on
its pod, what the SR-IOV operator has made on the node. So it can be asked at any time and any number of times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from fabric.k8s.base import compact_json
from fabric.k8s.mellanox import NIC_LABEL
from sandbox.hardware.device_plugins import (
    annotations_of,
    configuration,
    is_plugin,
    labels_of,
    loaded,
    matched,
    runs,
)
from sandbox.hardware.inventory import INVENTORY_ANNOTATION, SimulatedDevice, annotation_of, devices_of
from sandbox.hardware.node_state import asked_of, status_of_sync
from sandbox.hardware.operands import DRIVER, DRIVER_WAIT_LABEL, OPERAND_LABEL
from sandbox.hardware.sriov import (
    SyncError,
    observed_interfaces,
    offered_resources,
    rdma_mode,
    synced,
    wanted_interfaces,
)
from sandbox.hardware.sriov_operator import CONFIG_DAEMON, OPERATOR_PLUGIN, PLUGIN_LABEL
from sandbox.hardware.virtual_functions import COMPONENT, COMPONENT_LABEL, setup_of
from sandbox.nodes import RDMA_MODE_ANNOTATION

Object = dict[str, Any]

MADE_ANNOTATION = "sandbox.gpu-fabric/made-by-sriov-operator"
"""On a node: the NICs that the SR-IOV operator has configured, and the RDMA mode if it has set it, as JSON."""

ADVERTISED_ANNOTATION = "sandbox.gpu-fabric/advertised"
"""On a node: the resources that were advertised, so that they can be withdrawn after a restart."""

_USUAL_MODE = "shared"


@dataclass(frozen=True)
class SriovWorld:
    """What the SR-IOV operator knows for all nodes: the objects of its own namespace."""

    prefix: str = ""
    policies: tuple[Object, ...] = ()
    pools: tuple[Object, ...] = ()


@dataclass(frozen=True)
class World:
    """What counts for all nodes.

    `drivers` holds the node selectors of policies that bring a NIC driver; None while no NicClusterPolicy is obeyed.
    """

    drivers: tuple[Mapping[str, str], ...] | None = None
    config_maps: Mapping[str, Object] = field(default_factory=dict)
    sriov: SriovWorld = SriovWorld()


@dataclass
class Outcome:
    """What is to change: the node's labels, annotations and resources; pods by key; the SriovNetworkNodeState.

    `loads` is what plug-ins load that start now, `ready` are pods to be called ready, `restarts` pods to be deleted,
    and in the `restarted` ones the container has started anew; `state_spec` and `state_status` are None where they
    stay; `waits` says that a sync is in progress, and `failures` why a pod does not come up.
    """

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    loads: dict[str, Mapping[str, int]] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    restarted: set[str] = field(default_factory=set)
    state_spec: Object | None = None
    state_status: Object | None = None
    waits: bool = False
    failures: dict[str, str] = field(default_factory=dict)


def play(
    node: Mapping[str, Any], pods: Mapping[str, Object], state: Object | None, world: World, *, sync_is_over: bool
) -> Outcome:
    """The changes on a node with these pods (running ones or not) and this SriovNetworkNodeState.

    `sync_is_over` says whether the time that a sync takes has passed. Raises pydantic.ValidationError (a ValueError)
    for a node whose inventory cannot be read.
    """
    outcome = Outcome()
    running = {key: pod for key, pod in pods.items() if runs(pod)}
    _driver(node, running, world, outcome)
    _own_daemon_set(node, running, outcome)
    _config_daemon(node, running, state, world, outcome, sync_is_over=sync_is_over)
    _plugins(_after(node, outcome), running, state, world, outcome)
    return outcome


def _driver(node: Mapping[str, Any], pods: Mapping[str, Object], world: World, outcome: Outcome) -> None:
    if world.drivers is None:
        return
    labels = labels_of(node)
    wanted = None
    if labels.get(NIC_LABEL) == "true":
        brought = any(selector.items() <= labels.items() for selector in world.drivers)
        missing = brought and not any(labels_of(pod).get(OPERAND_LABEL) == DRIVER for pod in pods.values())
        wanted = "true" if missing else "false"
    if labels.get(DRIVER_WAIT_LABEL) != wanted:
        outcome.labels[DRIVER_WAIT_LABEL] = wanted


def _own_daemon_set(node: Mapping[str, Any], pods: Mapping[str, Object], outcome: Outcome) -> None:
    for key, pod in pods.items():
        if labels_of(pod).get(COMPONENT_LABEL) != COMPONENT:
            continue
        try:
            setup = setup_of(pod)
            after = setup.applied(_devices_on(node))
        except ValueError as problem:
            outcome.failures[key] = str(problem)
            continue
        if after != _devices_on(node):
            _devices(node, after, outcome)
            # its container is ended, and starts again in the same pod
            outcome.restarted |= {name for name in pods if setup.plugin_pod and name.startswith(setup.plugin_pod)}
        if setup.rdma_mode is not None and annotations_of(node).get(RDMA_MODE_ANNOTATION) != setup.rdma_mode:
            outcome.annotations[RDMA_MODE_ANNOTATION] = setup.rdma_mode
        outcome.ready.append(key)


def _config_daemon(
    node: Mapping[str, Any],
    pods: Mapping[str, Object],
    state: Object | None,
    world: World,
    outcome: Outcome,
    *,
    sync_is_over: bool,
) -> None:
    labels, sriov = labels_of(node), world.sriov
    is_there = any(labels_of(pod).get(OPERAND_LABEL) == CONFIG_DAEMON for pod in pods.values())
    if not is_there and sriov.policies:
        return  # nobody there to do what they ask for
    made = json.loads(annotations_of(node).get(MADE_ANNOTATION, "{}"))
    if not is_there and not made:
        return
    devices = _devices_on(node)
    interfaces = wanted_interfaces(sriov.policies, labels, devices)
    mode = rdma_mode(sriov.pools, labels)
    spec: Object = {"interfaces": interfaces, "system": {"rdmaMode": mode} if mode else {}}
    before = [{"pciAddress": pci} for pci in made.get("nics", ())]
    try:
        after = synced(interfaces, before, devices)
    except SyncError as problem:
        if is_there:
            final: Object = {"syncStatus": "Failed", "lastSyncError": str(problem)}
            _progress(state, spec, final, outcome, is_over=sync_is_over)
        return
    final = {"syncStatus": "Succeeded", "interfaces": observed_interfaces(after)}
    changes = after != devices
    if is_there and not _progress(state, spec, final, outcome, changes=changes, is_over=sync_is_over):
        return
    _devices(node, after, outcome)
    _made(node, interfaces, mode, made, outcome)
    # a plug-in that started earlier would look at NICs that are not configured yet
    enabled = "Enabled" if interfaces else "Disabled"
    if is_there and labels.get(PLUGIN_LABEL) != enabled:
        outcome.labels[PLUGIN_LABEL] = enabled


def _progress(
    state: Object | None, spec: Object, final: Object, outcome: Outcome, *, is_over: bool, changes: bool = False
) -> bool:
    """Whether a sync has come to its end; writes where it is to the node's state.

    It begins with a new spec, or when something undid what the last one `changes` again.
    """
    present = status_of_sync(state)
    begins = changes and present.get("syncStatus") == "Succeeded"
    known = asked_of(state)
    if known != spec:
        outcome.state_spec = spec
        begins = any((*spec.values(), *known.values()))
    if begins or (present.get("syncStatus") == "InProgress" and not is_over):
        outcome.waits = True
        if begins:
            outcome.state_status = {"syncStatus": "InProgress"}
        return False
    if any(present.get(key) != value for key, value in final.items()):
        outcome.state_status = final
    return True


def _made(
    node: Mapping[str, Any], interfaces: Sequence[Object], mode: str | None, made: Object, outcome: Outcome
) -> None:
    nics = [item["pciAddress"] for item in interfaces if not item.get("externallyManaged")]
    record = {key: value for key, value in (("nics", nics), ("rdmaMode", mode)) if value}
    if record != made:
        outcome.annotations[MADE_ANNOTATION] = compact_json(record) if record else None
    wanted = mode or (_USUAL_MODE if "rdmaMode" in made else None)
    if wanted and annotations_of(node).get(RDMA_MODE_ANNOTATION) != wanted:
        outcome.annotations[RDMA_MODE_ANNOTATION] = wanted


def _plugins(
    node: Mapping[str, Any], pods: Mapping[str, Object], state: Object | None, world: World, outcome: Outcome
) -> None:
    for key, pod in pods.items():
        plugin = labels_of(pod).get(OPERAND_LABEL)
        resources = None if key in outcome.restarted else loaded(pod)
        try:
            if plugin == OPERATOR_PLUGIN:
                resources = _operator_plugin(key, node, resources, state, world, outcome)
            elif not is_plugin(pod):
                continue
            elif resources is None:
                resources = dict(matched(str(plugin), configuration(pod, world.config_maps), node))
                outcome.loads[key] = resources
        except ValueError as problem:
            outcome.failures[key] = str(problem)
            continue
        if resources is not None:
            outcome.resources |= resources
            outcome.ready.append(key)


def _operator_plugin(
    key: str,
    node: Mapping[str, Any],
    before: dict[str, int] | None,
    state: Object | None,
    world: World,
    outcome: Outcome,
) -> dict[str, int] | None:
    """What the SR-IOV operator's plug-in offers; unlike the other operator it restarts its plug-in by itself."""
    is_synced = status_of_sync(state).get("syncStatus") == "Succeeded"
    if not is_synced or outcome.state_status is not None or outcome.state_spec is not None:
        return before
    resources = offered_resources(asked_of(state)["interfaces"], _devices_on(node), world.sriov.prefix)
    if before is None:
        outcome.loads[key] = resources
    elif before != resources:
        outcome.restarts.append(key)
        return before
    return resources


def _devices_on(node: Mapping[str, Any]) -> tuple[SimulatedDevice, ...]:
    return _parsed(annotations_of(node).get(INVENTORY_ANNOTATION, "[]"))


# Nodes of one shape share their inventory's text.
@lru_cache(maxsize=32)
def _parsed(inventory: str) -> tuple[SimulatedDevice, ...]:
    return devices_of({INVENTORY_ANNOTATION: inventory})


def _devices(node: Mapping[str, Any], devices: Sequence[SimulatedDevice], outcome: Outcome) -> None:
    if devices != _devices_on(node):
        outcome.annotations |= annotation_of(devices)


def _after(node: Mapping[str, Any], outcome: Outcome) -> Object:
    """The node with the annotations that it is about to get."""
    annotations = {**annotations_of(node), **outcome.annotations}
    return {**node, "metadata": {**node["metadata"], "annotations": annotations}}


def node_patch(node: Mapping[str, Any], outcome: Outcome) -> Object:
    """The strategic merge patch that gives a node what it has come to; empty when it has it.

    Resources advertised before and no longer offered are withdrawn; all others are left alone.
    """
    remembered = json.loads(annotations_of(node).get(ADVERTISED_ANNOTATION, "[]"))
    quantities: dict[str, str | None] = {name: str(count) for name, count in outcome.resources.items()}
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
