"""What the SR-IOV operator runs: pure functions from its Deployment and its SriovOperatorConfig to DaemonSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.hardware.operands import OPERAND_LABEL, PLAYED_LABEL, owner_reference, with_revision

Object = dict[str, Any]

SRIOV_OPERATOR = "sriov-network-operator"
CONFIG_NAME = "default"
"""The only SriovOperatorConfig that the operator obeys; without it there is no config daemon."""

CONFIG_DAEMON, OPERATOR_PLUGIN = "sriov-config-daemon", "sriov-operator-device-plugin"
PLUGIN_LABEL = "sriovnetwork.openshift.io/device-plugin"
"""The operator writes it on nodes: `Enabled` where virtual functions are ready to be offered, else `Disabled`."""

DEFAULT_PREFIX = "nvidia.com"
# Variables of the operator's own container that name the CNI plug-ins' images, in the order of their installation.
_CNI_IMAGES = {
    "sriov-cni": "SRIOV_CNI_IMAGE",
    "sriov-infiniband-cni": "SRIOV_INFINIBAND_CNI_IMAGE",
    "rdma-cni": "RDMA_CNI_IMAGE",
}


def setting(operator: Mapping[str, Any], name: str) -> str | None:
    """A variable of the operator's Deployment; None where no container has it."""
    containers = operator["spec"]["template"]["spec"]["containers"]
    values = (entry.get("value") for item in containers for entry in item.get("env", ()) if entry["name"] == name)
    return next(values, None)


def resource_prefix(operator: Mapping[str, Any]) -> str:
    """What the operator's resources begin with."""
    return setting(operator, "RESOURCE_PREFIX") or DEFAULT_PREFIX


def daemon_sets(operator: Mapping[str, Any], config: Mapping[str, Any]) -> list[Object]:
    """The config daemon, whose init containers install the CNI plug-ins, and the operator's own device plug-in."""
    installers = [
        _container(name, setting(operator, variable) or name, args=["--no-sleep"], volumeMounts=_HOST_MOUNTS)
        for name, variable in _CNI_IMAGES.items()
    ]
    daemon = _container(
        "sriov-network-config-daemon",
        setting(operator, "SRIOV_NETWORK_CONFIG_DAEMON_IMAGE") or "sriov-network-operator-config-daemon",
    )
    plugin = _container(
        "sriov-device-plugin", setting(operator, "SRIOV_DEVICE_PLUGIN_IMAGE") or "sriov-network-device-plugin"
    )
    selector = dict(config["spec"].get("configDaemonNodeSelector") or {})
    return [
        _daemon_set(
            config,
            "sriov-network-config-daemon",
            CONFIG_DAEMON,
            selector,
            {"initContainers": installers, "containers": [daemon], "volumes": _HOST_VOLUMES, "hostPID": True},
        ),
        _daemon_set(
            config,
            "sriov-device-plugin",
            OPERATOR_PLUGIN,
            {**selector, PLUGIN_LABEL: "Enabled"},
            {"containers": [plugin]},
        ),
    ]


_HOST_VOLUMES = [
    {"name": "cnibin", "hostPath": {"path": "/opt/cni/bin"}},
    {"name": "os-release", "hostPath": {"path": "/etc/os-release"}},
]
_HOST_MOUNTS = [
    {"name": "cnibin", "mountPath": "/host/opt/cni/bin"},
    {"name": "os-release", "mountPath": "/host/etc/os-release", "readOnly": True},
]


def _container(name: str, image: str, **fields: Any) -> Object:
    return {"name": name, "image": image, "securityContext": {"privileged": True}, **fields}


def _daemon_set(
    config: Mapping[str, Any], name: str, plays: str, nodes: Mapping[str, str], pod: Mapping[str, Any]
) -> Object:
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": name,
            "namespace": config["metadata"]["namespace"],
            "labels": {PLAYED_LABEL: SRIOV_OPERATOR},
            "ownerReferences": [owner_reference(config)],
        },
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "33%"}},
            "template": {
                "metadata": {"labels": {"app": name, OPERAND_LABEL: plays}},
                "spec": {
                    "hostNetwork": True,
                    "nodeSelector": dict(nodes),
                    "tolerations": [{"operator": "Exists"}],
                    **pod,
                },
            },
        },
    }
    return with_revision(daemon_set)
