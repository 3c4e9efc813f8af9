"""What AMD's operators make of a NetworkConfig or a DeviceConfig, and what their plug-ins offer: pure functions.

Names and images of the DaemonSets are those of network-operator v1.2.0 and gpu-operator v1.5.1 (internal/ of both), and
so is the condition, which says nothing of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_fabric.k8s.device_plugin import DeviceSelectors
from .advertise import matches
from .inventory import SimulatedDevice
from .operands import GPU_PLUGIN, OPERAND_LABEL, PLAYED_LABEL, POLICY_LABEL, owner_reference, with_revision

Object = dict[str, Any]

AMD_NETWORK_OPERATOR = "network-operator-charts"
AMD_GPU_OPERATOR = "gpu-operator-charts"
"""The label app.kubernetes.io/name of an operator, which is its chart's name."""

NIC_PLUGIN = "amd-nic-device-plugin"
"""The operand whose pods offer amd.com/nic."""

# The chart's configuration of the plug-in; device ids that are not published do not rule a NIC out.
_SELECTED = DeviceSelectors(vendors=("1dd8",), drivers=("ionic",), is_rdma=True)


def nics(devices: Iterable[SimulatedDevice]) -> dict[str, int]:
    """The resource of a node's NICs, without that of the default route; none without such NICs."""
    count = sum(matches(each, _SELECTED) and not (each.is_vf or each.default_route) for each in devices)
    return {"amd.com/nic": count} if count else {}


def amd_operands(config: Mapping[str, Any], operator: str) -> list[Object]:
    """The DaemonSets of a NetworkConfig or DeviceConfig, in its namespace."""
    spec, plugin = config["spec"], config["spec"]["devicePlugin"]
    plays = NIC_PLUGIN if operator == AMD_NETWORK_OPERATOR else GPU_PLUGIN
    wanted = []
    if plugin.get("enableDevicePlugin", True):
        wanted.append(("device-plugin", plugin.get("devicePluginImage"), plugin.get("devicePluginTolerations"), plays))
    if plugin.get("enableNodeLabeller"):
        wanted.append(("node-labeller", plugin.get("nodeLabellerImage"), plugin.get("nodeLabellerTolerations"), ""))
    switched = {
        "cni-plugins": (spec.get("secondaryNetwork") or {}).get("cniPlugins"),
        "dra-driver": spec.get("draDriver"),
        "metrics-exporter": spec.get("metricsExporter"),
    }
    on = {name: section for name, section in switched.items() if section and section.get("enable")}
    wanted += [(name, section.get("image"), section.get("tolerations"), "") for name, section in on.items()]
    return [with_revision(_daemon_set(config, operator, *each)) for each in wanted]


def _daemon_set(
    config: Mapping[str, Any], operator: str, name: str, image: str | None, tolerations: object, plays: str
) -> Object:
    metadata = config["metadata"]
    full = f"{metadata['name']}-{name}"
    labels = {"daemonset-name": full, "app.kubernetes.io/name": name}
    pod_labels = labels | ({OPERAND_LABEL: plays} if plays else {})
    container = {"name": f"{name}-container", "image": image, "securityContext": {"privileged": True}}
    pod: Object = {"nodeSelector": config["spec"]["selector"], "containers": [container]}
    if tolerations:
        pod["tolerations"] = tolerations
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": full,
            "namespace": metadata["namespace"],
            "labels": {**labels, PLAYED_LABEL: operator, POLICY_LABEL: metadata["uid"]},
            "ownerReferences": [owner_reference(config)],
        },
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": pod_labels}, "spec": pod}},
    }


def ready_patch(config: Mapping[str, Any], now: str) -> Object:
    """The merge patch that makes a NetworkConfig or DeviceConfig ready; empty when it is."""
    condition = {"type": "Ready", "status": "True", "reason": "OperatorReady", "message": ""}
    present = (config.get("status") or {}).get("conditions") or ()
    if any(condition.items() <= entry.items() for entry in present):
        return {}
    return {"status": {"conditions": [{**condition, "lastTransitionTime": now}]}}
