"""The daemon of the SR-IOV operators on one simulated node: pure functions. The operators themselves really run.

A cluster may have two of them, NVIDIA's and Spiderpool's; each sees its own namespace only. The pattern is the daemon
of v1.6.0 (pkg/daemon/daemon.go): it shows the node's NICs whatever is asked, makes them what the
SriovNetworkNodeState asks when that has changed or something undid it, and then restarts the operator's device plug-in
on the node. Nodes are neither drained nor rebooted here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_fabric.k8s.base import compact_json
from ..simulated_nodes import RDMA_MODE_ANNOTATION
from .device_plugins import annotations_of, app_of
from .node_records import Object, Outcome, change_devices, devices_on, node_after, status_of_sync
from .operands import CONFIG_DAEMON, OPERATOR_PLUGIN
from .sriov import SyncError, observed_interfaces, synced

APPLIED_ANNOTATION = "sandbox.gpu-fabric/applied-by-sriov-daemon"
"""On a node, as JSON: operator's namespace -> what its daemon has applied: the state's `generation`, the `nics` that it
has configured, and the `rdmaMode` if it has set it."""

_USUAL_MODE = "shared"


def config_daemons(
    node: Mapping[str, Any],
    pods: Mapping[str, Object],
    states: Mapping[str, Object],
    outcome: Outcome,
    *,
    sync_is_over: bool,
) -> None:
    """Make a node what each operator asks of it whose daemon runs there."""
    for namespace in sorted(pod["metadata"]["namespace"] for pod in pods.values() if app_of(pod) == CONFIG_DAEMON):
        state = states.get(namespace)
        if state is None:
            continue
        # One that has just started, too: the operator writes the node's state before the plug-in's configuration.
        plugins = [
            key
            for key, pod in pods.items()
            if app_of(pod) == OPERATOR_PLUGIN and pod["metadata"]["namespace"] == namespace
        ]
        status = _status(node_after(node, outcome), state, plugins, outcome, is_over=sync_is_over)
        if "system" not in (state.get("spec") or {}):
            del status["system"]  # the daemon of v1.3.0 does not know it
        if status_of_sync(state) != {key: value for key, value in status.items() if value}:
            outcome.states[namespace] = status


def _status(
    node: Mapping[str, Any], state: Mapping[str, Any], plugins: Sequence[str], outcome: Outcome, *, is_over: bool
) -> Object:
    """The status that the daemon writes; what it does to the node goes into the outcome."""
    namespace, generation = state["metadata"]["namespace"], state["metadata"]["generation"]
    spec, devices = state.get("spec") or {}, devices_on(node)
    applied = _all_applied(node).get(namespace, {})
    has_mode = annotations_of(node).get(RDMA_MODE_ANNOTATION, _USUAL_MODE)
    mode = (spec.get("system") or {}).get("rdmaMode") or (_USUAL_MODE if "rdmaMode" in applied else has_mode)
    shown: Object = {"interfaces": observed_interfaces(devices), "system": {"rdmaMode": has_mode}}
    wanted = spec.get("interfaces") or ()
    try:
        after = synced(wanted, [{"pciAddress": pci} for pci in applied.get("nics", ())], devices)
    except SyncError as problem:
        return {**shown, "syncStatus": "Failed", "lastSyncError": str(problem)}
    if (applied.get("generation"), devices, has_mode) == (generation, after, mode):
        return {**shown, "syncStatus": "Succeeded"}
    if status_of_sync(state).get("syncStatus") != "InProgress" or not is_over:
        outcome.waits = True
        return {**shown, "syncStatus": "InProgress"}
    change_devices(node, after, outcome)
    record: Object = {"generation": generation}
    record["nics"] = [item["pciAddress"] for item in wanted if not item.get("externallyManaged")]
    if (spec.get("system") or {}).get("rdmaMode"):
        record["rdmaMode"] = mode
    outcome.annotations[APPLIED_ANNOTATION] = compact_json({**_all_applied(node), namespace: record})
    if mode != has_mode:
        outcome.annotations[RDMA_MODE_ANNOTATION] = mode
    outcome.restarts += plugins
    return {"interfaces": observed_interfaces(after), "system": {"rdmaMode": mode}, "syncStatus": "Succeeded"}


def _all_applied(node: Mapping[str, Any]) -> dict[str, Object]:
    applied: dict[str, Object] = json.loads(annotations_of(node).get(APPLIED_ANNOTATION, "{}"))
    return applied
