"""The device plug-ins that clouds run inside their clusters, as DaemonSets whose pods `sandbox.hardware` plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..hardware.operands import OPERAND_LABEL

Object = dict[str, Any]

NAMESPACE = "kube-system"


def plugin_daemon_set(name: str, plays: str, nodes: Sequence[Object], config_map: str | None = None) -> Object:
    """A plug-in on the nodes that fit all match expressions, whatever their taints; it reads the ConfigMap if given."""
    labels = {"app": name}
    container: Object = {"name": name, "image": f"{name}:simulated", "securityContext": {"privileged": True}}
    # every GPU node is tainted, and may have taints of its user's besides
    pod: Object = {"hostNetwork": True, "tolerations": [{"operator": "Exists"}], "containers": [container]}
    required = {"nodeSelectorTerms": [{"matchExpressions": list(nodes)}]}
    pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if config_map is not None:
        container["volumeMounts"] = [{"name": "config", "mountPath": "/k8s-rdma-shared-dev-plugin"}]
        pod["volumes"] = [{"name": "config", "configMap": {"name": config_map}}]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": {**labels, OPERAND_LABEL: plays}}, "spec": pod},
        },
    }
