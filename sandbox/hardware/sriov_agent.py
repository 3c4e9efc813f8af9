"""The SR-IOV operators on one simulated node: config daemon and device plug-in of each, pure functions.

A cluster may have two of them, NVIDIA's and Spiderpool's; each sees its own namespace only. The virtual functions of
each are recorded on the node under its namespace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_fabric.k8s.base import compact_json
from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.node_records import (
    Object,
    Outcome,
    SriovWorld,
    StateChange,
    World,
    asked_of,
    change_devices,
    devices_on,
    node_after,
    status_of_sync,
)
from sandbox.hardware.operands import OPERAND_LABEL
from sandbox.hardware.sriov import (
    SyncError,
    observed_interfaces,
    offered_resources,
    rdma_mode,
    synced,
    wanted_interfaces,
)
from sandbox.hardware.sriov_operator import CONFIG_DAEMON, PLUGIN_LABEL
from sandbox.nodes import RDMA_MODE_ANNOTATION

MADE_ANNOTATION = "sandbox.gpu-fabric/made-by-sriov-operator"
"""On a node, as JSON: operator's namespace -> the NICs that it has configured, and the RDMA mode if it has set it."""

_USUAL_MODE = "shared"


def config_daemons(
    node: Mapping[str, Any],
    pods: Mapping[str, Object],
    states: Mapping[str, Object],
    world: World,
    outcome: Outcome,
    *,
    sync_is_over: bool,
) -> None:
    """Make a node what the policies of each operator ask of it."""
    there = {
        pod["metadata"]["namespace"] for pod in pods.values() if labels_of(pod).get(OPERAND_LABEL) == CONFIG_DAEMON
    }
    chosen: list[bool | None] = []
    for namespace in sorted({*world.sriov, *_all_made(node)}):
        is_there, sriov = namespace in there, world.sriov.get(namespace, SriovWorld())
        has_interfaces = _config_daemon(
            node_after(node, outcome),
            namespace,
            sriov,
            states.get(namespace),
            outcome,
            is_there=is_there,
            sync_is_over=sync_is_over,
        )
        if is_there:
            chosen.append(has_interfaces)
    # a plug-in that started earlier would look at NICs that are not configured yet
    if chosen and None not in chosen:
        enabled = "Enabled" if any(chosen) else "Disabled"
        if labels_of(node).get(PLUGIN_LABEL) != enabled:
            outcome.labels[PLUGIN_LABEL] = enabled


def _config_daemon(
    node: Mapping[str, Any],
    namespace: str,
    sriov: SriovWorld,
    state: Object | None,
    outcome: Outcome,
    *,
    is_there: bool,
    sync_is_over: bool,
) -> bool | None:
    """Gives whether policies mean NICs of the node, once it is as they ask; None before."""
    if not is_there and sriov.policies:
        return None  # no daemon to apply the policies
    made = _all_made(node).get(namespace, {})
    if not is_there and not made:
        return None
    labels, devices = labels_of(node), devices_on(node)
    interfaces = wanted_interfaces(sriov.policies, labels, devices)
    mode = rdma_mode(sriov.pools, labels)
    spec: Object = {"interfaces": interfaces, "system": {"rdmaMode": mode} if mode else {}}
    change = StateChange()
    before = [{"pciAddress": pci} for pci in made.get("nics", ())]
    try:
        after = synced(interfaces, before, devices)
    except SyncError as problem:
        if is_there:
            final: Object = {"syncStatus": "Failed", "lastSyncError": str(problem)}
            _progress(state, spec, final, change, outcome, is_over=sync_is_over)
            _note(namespace, change, outcome)
        return None
    final = {"syncStatus": "Succeeded", "interfaces": observed_interfaces(after)}
    if mode:
        final["system"] = {"rdmaMode": mode}
    changes = after != devices
    if is_there:
        is_done = _progress(state, spec, final, change, outcome, changes=changes, is_over=sync_is_over)
        _note(namespace, change, outcome)
        if not is_done:
            return None
    change_devices(node, after, outcome)
    _made(node, namespace, interfaces, mode, outcome)
    return bool(interfaces)


def _note(namespace: str, change: StateChange, outcome: Outcome) -> None:
    if change != StateChange():
        outcome.states[namespace] = change


def _progress(
    state: Object | None,
    spec: Object,
    final: Object,
    change: StateChange,
    outcome: Outcome,
    *,
    is_over: bool,
    changes: bool = False,
) -> bool:
    """Whether a sync has come to its end; writes where it is to the node's state.

    The operator writes a new spec and leaves the status as it is; the daemon begins when it has looked at that
    (seen of operator v1.6.0, whose status stayed `Succeeded`), or when something undid what the last one `changes`.
    """
    present = status_of_sync(state)
    is_past = present.get("syncStatus") in ("Succeeded", "Failed")
    begins = changes and is_past
    known = asked_of(state)
    if known != spec:
        change.spec = spec
        begins = any((*spec.values(), *known.values()))
        if begins and is_past:
            outcome.waits = True
            return False
    if begins or (present.get("syncStatus") == "InProgress" and not is_over):
        outcome.waits = True
        if begins:
            change.status = {"syncStatus": "InProgress"}
        return False
    if any(present.get(key) != value for key, value in final.items()):
        change.status = final
    return True


def _all_made(node: Mapping[str, Any]) -> dict[str, Object]:
    made: dict[str, Object] = json.loads(annotations_of(node).get(MADE_ANNOTATION, "{}"))
    return made


def _made(
    node: Mapping[str, Any], namespace: str, interfaces: Sequence[Object], mode: str | None, outcome: Outcome
) -> None:
    made = _all_made(node)
    before = made.pop(namespace, {})
    nics = [item["pciAddress"] for item in interfaces if not item.get("externallyManaged")]
    record = {key: value for key, value in (("nics", nics), ("rdmaMode", mode)) if value}
    if record != before:
        after = {**made, namespace: record} if record else made
        outcome.annotations[MADE_ANNOTATION] = compact_json(after) if after else None
    wanted = mode or (_USUAL_MODE if "rdmaMode" in before else None)
    if wanted and annotations_of(node).get(RDMA_MODE_ANNOTATION) != wanted:
        outcome.annotations[RDMA_MODE_ANNOTATION] = wanted


def operator_plugin(
    key: str,
    pod: Mapping[str, Any],
    node: Mapping[str, Any],
    before: dict[str, int] | None,
    states: Mapping[str, Object],
    world: World,
    outcome: Outcome,
) -> dict[str, int] | None:
    """What an SR-IOV operator's plug-in offers; unlike the Network Operator it restarts its plug-in by itself."""
    namespace = pod["metadata"]["namespace"]
    state = states.get(namespace)
    if status_of_sync(state).get("syncStatus") != "Succeeded" or namespace in outcome.states:
        return before
    prefix = world.sriov.get(namespace, SriovWorld()).prefix
    resources = offered_resources(asked_of(state)["interfaces"], devices_on(node), prefix)
    if before is None:
        outcome.loads[key] = resources
    elif before != resources:
        outcome.restarts.append(key)
        return before
    return resources
