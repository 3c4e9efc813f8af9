"""The status that the GPU Operator writes to its ClusterPolicy: pure functions.

As its controllers/clusterpolicy_controller.go and controllers/object_controls.go have it in v26.3.3, run against a real
API server: before Node Feature Discovery has labelled any node the policy is `ready`, for the reason NFDLabelsMissing,
since a DaemonSet with no pod counts as ready; after the labels have come it stays so until the first pods are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = dict[str, Any]

GPU_OPERATOR = "gpu-operator"
CLUSTER_POLICY_NAME = "cluster-policy"
"""The name of the chart's only ClusterPolicy."""
OPERANDS = "app.kubernetes.io/part-of=gpu-operator"
"""The selector of the operator's DaemonSets, which the stand-in chart installs in its place."""

_FEATURES, _GPU = "feature.node.kubernetes.io/", "nvidia.com/gpu.present"


def gpu_policy_status(
    policy: Mapping[str, Any],
    labels: Iterable[Mapping[str, str]],
    operands: Iterable[Mapping[str, Any]],
    namespace: str,
    now: str,
) -> Object:
    """The status of a policy, with the labels of all nodes and the operator's DaemonSets; `now` is for conditions."""
    if policy["metadata"]["name"] != CLUSTER_POLICY_NAME:
        return {"state": "ignored"}
    nodes = list(labels)
    late = [item["metadata"]["name"] for item in operands if not _is_ready(item)]
    if late:
        return _status("notReady", "Error", f"states not ready: {late}", namespace, now)
    if not any(key.startswith(_FEATURES) for node in nodes for key in node):
        return _status("ready", "NFDLabelsMissing", "No NFD labels found", namespace, now)
    if not any(node.get(_GPU) == "true" for node in nodes):
        return _status("ready", "NoGPUNodes", "No GPU node found", namespace, now)
    return _status("ready", "Reconciled", "all operands are ready", namespace, now)


def is_news(policy: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether the status differs from the policy's own."""
    return _summary(policy.get("status") or {}) != _summary(status)


def _is_ready(operand: Mapping[str, Any]) -> bool:
    """One that no pod is wanted of counts as ready, and a template that Kubernetes has not seen is not looked for.

    Where pods are only replaced when something deletes them, those of an earlier template count as not ready
    (isDaemonSetReady in controllers/object_controls.go).
    """
    status = operand.get("status") or {}
    on_delete = (operand["spec"].get("updateStrategy") or {}).get("type") == "OnDelete"
    is_old = status.get("updatedNumberScheduled", 0) < status.get("desiredNumberScheduled", 0)
    return not status.get("numberUnavailable") and not (on_delete and is_old)


def _status(state: str, reason: str, message: str, namespace: str, now: str) -> Object:
    is_ready = state == "ready"
    conditions = (("Ready", is_ready, reason, message), ("Error", not is_ready, "Ready" if is_ready else reason, ""))
    return {
        "state": state,
        "namespace": namespace,
        "conditions": [
            {"type": kind, "status": str(holds), "reason": why, "message": text, "lastTransitionTime": now}
            for kind, holds, why, text in conditions
        ],
    }


def _summary(status: Mapping[str, Any]) -> tuple[Any, ...]:
    conditions = status.get("conditions") or ()
    return (status.get("state"), *((entry["type"], entry["status"], entry["reason"]) for entry in conditions))
