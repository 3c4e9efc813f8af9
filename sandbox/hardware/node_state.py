"""The SriovNetworkNodeState of a node, as the SR-IOV operator and its daemon write it: pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fabric.k8s.base import compact_json
from sandbox.hardware.device_plugins import annotations_of
from sandbox.hardware.operands import owner_reference

Object = dict[str, Any]

ASKED_ANNOTATION = "sandbox.gpu-fabric/asked"
"""On a node's state: its spec as JSON, whatever part of it the installed definition keeps."""

_STATUS_FIELDS = ("syncStatus", "lastSyncError", "interfaces")


def asked_of(state: Mapping[str, Any] | None) -> Object:
    """What was asked of a node, as its `spec`; nothing while it has no state."""
    text = annotations_of(state).get(ASKED_ANNOTATION) if state is not None else None
    asked: Object = json.loads(text) if text is not None else {}
    return asked


def status_of_sync(state: Mapping[str, Any] | None) -> Object:
    """Where the sync of a node is, without what is empty."""
    status = (state or {}).get("status") or {}
    return {field: status[field] for field in _STATUS_FIELDS if status.get(field)}


def state_of_node(name: str, config: Mapping[str, Any], spec: Object) -> Object:
    """The object that asks this of a node; it belongs to the operator's configuration, and goes with it."""
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
    """The merge patch that sets a state's status: a field that is not given is removed, but NICs stay as last seen."""
    cleared = {field: None for field in _STATUS_FIELDS if field != "interfaces"}
    return {"status": {**cleared, **status}}
