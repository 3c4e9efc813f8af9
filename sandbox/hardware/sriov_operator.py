"""What the SR-IOV operator runs: pure functions from its Deployment and its SriovOperatorConfig to DaemonSets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.hardware.operands import OPERAND_LABEL, PLAYED_LABEL, owner_reference, with_revision

Object = dict[str, Any]

SRIOV_OPERATOR = "sriov-network-operator"
CONFIG_NAME = "default"
"""The only SriovOperatorConfig that the operator obeys; without it there is no config daemon."""

CONFIG_DAEMON, OPERATOR_PLUGIN = "sriov-config-daemon", "sriov-operator-device-plugin"
WEBHOOK_SERVER, WEBHOOK = "operator-webhook", "sriov-operator-webhook-config"
"""The DaemonSet that answers for the operator's webhook, and what the API server knows that webhook by."""

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
        *([_webhook_server(config)] if config["spec"].get("enableOperatorWebhook") else []),
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


def refusing_webhook(config: Mapping[str, Any], servers: Iterable[Mapping[str, Any]]) -> Object | None:
    """The webhook that the API server asks about node policies, while no pod of the operator's answers; else None.

    It fails closed, so every policy is refused then. What it checks once it has a pod is not played.
    """
    namespace = config["metadata"]["namespace"]
    own = (item for item in servers if item["metadata"]["namespace"] == namespace)
    if not config["spec"].get("enableOperatorWebhook") or any(map(_answers, own)):
        return None
    rule = {
        "apiGroups": ["sriovnetwork.openshift.io"],
        "apiVersions": ["v1"],
        "resources": ["sriovnetworknodepolicies"],
        "operations": ["CREATE", "UPDATE"],
    }
    webhook = {
        "name": "operator-webhook.sriovnetwork.openshift.io",
        "clientConfig": {"service": {"namespace": namespace, "name": "operator-webhook-service"}},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return with_revision(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": WEBHOOK, "labels": {PLAYED_LABEL: SRIOV_OPERATOR}},
            "webhooks": [webhook],
        }
    )


def _answers(daemon_set: Mapping[str, Any]) -> bool:
    return daemon_set["metadata"]["name"] == WEBHOOK_SERVER and bool(
        (daemon_set.get("status") or {}).get("numberReady")
    )


def _webhook_server(config: Mapping[str, Any]) -> Object:
    """On nodes of the control plane alone, as controllers/sriovoperatorconfig_controller.go has it since v1.3.0."""
    server = _daemon_set(config, WEBHOOK_SERVER, None, {}, {"containers": [_container("webhook-server", "webhook")]})
    roles = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")
    terms = [{"matchExpressions": [{"key": role, "operator": "Exists"}]} for role in roles]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    server["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    return with_revision(server)


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
    config: Mapping[str, Any], name: str, plays: str | None, nodes: Mapping[str, str], pod: Mapping[str, Any]
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
                "metadata": {"labels": {"app": name, **({} if plays is None else {OPERAND_LABEL: plays})}},
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
