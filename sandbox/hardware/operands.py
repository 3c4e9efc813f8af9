"""The Network Operator's operands: pure functions from a policy to DaemonSets, ConfigMaps and Deployments.

Names, labels, node selectors and tolerations are those of the operator's own manifests, so that a search for a device
plug-in's DaemonSet has the same result as in a real cluster. The containers have the images and settings that matter to
Kubernetes (privileges, volumes of configuration, resources); settings of the running process alone are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gpu_fabric.base.tables import read_rows
from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.base import compact_json
from gpu_fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NIC_LABEL
from gpu_fabric.model import FrozenModel

Object = dict[str, Any]

DRIVER_WAIT_LABEL = "network.nvidia.com/operator.mofed.wait"
PLAYED_LABEL = "sandbox.gpu-fabric/played-by"
"""On every object that is made here in an operator's place: which operator's."""

OPERAND_LABEL = "sandbox.gpu-fabric/operand"
"""On pods whose start has effects on their node: what they are. A device plug-in's pod is not ready by itself."""

STATE_LABEL = "sandbox.gpu-fabric/state"
POLICY_LABEL = "sandbox.gpu-fabric/policy"
REVISION_ANNOTATION = "sandbox.gpu-fabric/revision"
"""A hash of what was asked for: an object that others changed since is left as they made it, as the operator does."""

CONFIG_HASH = "nvidia.network-operator.config-hash"
"""In a device plug-in's pod template; what the real annotation is called is of no matter here."""

NETWORK_OPERATOR = "network-operator"
SRIOV_PLUGIN, RDMA_PLUGIN, DRIVER = "sriov-device-plugin", "rdma-device-plugin", "nic-driver"
GPU_PLUGIN, CLOUD_PLUGIN = "gpu-device-plugin", "cloud-device-plugin"
CONFIG_DAEMON, OPERATOR_PLUGIN = "sriov-network-config-daemon", "sriov-device-plugin"
"""Label `app` of the pods that the SR-IOV operators run on nodes: their daemon and their own device plug-in."""

# Only nodes with the NIC have a driver; the plug-ins wait there until it is in place.
_LOADED = {DRIVER_WAIT_LABEL: "false"}
_NODES = {None: {}, "nic": {NIC_LABEL: "true"}, "loaded": _LOADED, "driver": {NIC_LABEL: "true", **_LOADED}}
_GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


class Operand(FrozenModel):
    """One workload of a policy's section; operands.yaml explains the fields."""

    state: str
    section: str
    name: str
    labels: dict[str, str]
    kind: Literal["DaemonSet", "Deployment"] = "DaemonSet"
    nodes: Literal["nic", "loaded", "driver"] | None = None
    plays: str | None = None
    config_map: str | None = None
    image: str | None = None
    replicas: int = 1

    @property
    def key(self) -> str:
        """The last key of its section."""
        return self.section.rpartition(".")[2]


@dataclass(frozen=True)
class Installed:
    """An installed operator: its namespace, and its release line's names of the plug-ins' DaemonSets, by section.

    `rolls`: whether it restarts plug-ins when their configuration changes. One that does not looks at no revision of
    its DaemonSets either, and puts them back. `line` is None for an unknown version.
    """

    namespace: str
    plugins: Mapping[str, str] = field(default_factory=dict)
    rolls: bool = True
    line: str | None = None


def installed(operator: Mapping[str, Any]) -> Installed:
    """The operator of a Deployment; the tag of its image identifies the release line."""
    version = operator["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2].removeprefix("v")
    lines = (
        (name, line)
        for name, line in catalog().releases.items()
        if "network-operator" in line.charts and line.charts["network-operator"].version == version
    )
    namespace, found = operator["metadata"]["namespace"], next(lines, None)
    if found is None:
        return Installed(namespace)
    release_line, line = found
    names = {str(key): name for key, name in line.plugin_daemon_sets.items()}
    return Installed(namespace, names, line.rolls_plugins, release_line)


def operands() -> tuple[Operand, ...]:
    """Every workload that a policy may ask for."""
    return read_rows(Path(__file__).with_suffix(".yaml"), Operand)


# Sections that a NicNodePolicy may have, and one that only old release lines have.
NODE_POLICY_STATES = ("state-OFED", "state-SRIOV-device-plugin", "state-RDMA-device-plugin")
_OLD_STATES = ("state-whereabouts-cni",)


def states_of(policy: Mapping[str, Any]) -> dict[str, bool]:
    """The operator's states for a policy, in its order, each with whether the policy asks for it."""
    asked: dict[str, bool] = {}
    for operand in operands():
        has_section = section_of(policy, operand) is not None
        known = operand.state in NODE_POLICY_STATES if _of_nodes(policy) else operand.state not in _OLD_STATES
        if known or has_section:
            asked[operand.state] = has_section
    return asked


def section_of(policy: Mapping[str, Any], operand: Operand) -> Mapping[str, Any] | None:
    """A policy's section for an operand, None when it has none; an empty one counts."""
    found: Mapping[str, Any] | None = policy["spec"]
    for key in operand.section.split("."):
        found = (found or {}).get(key)
    return found


def operands_of(policy: Mapping[str, Any], operator: Installed) -> list[Object]:
    """Every object that the operator makes for a policy."""
    objects = []
    for operand in operands():
        section = section_of(policy, operand)
        if section is None:
            continue
        if operand.config_map is not None:
            objects.append(_config_map(policy, operand, section, operator.namespace))
        objects.append(_workload(policy, operand, section, operator))
    return [with_revision(item) for item in objects]


def with_revision(item: Object) -> Object:
    """The object with a hash of itself, by which a later change is detected."""
    digest = hashlib.sha256(compact_json(item).encode()).hexdigest()[:16]
    metadata = item["metadata"]
    annotations = {**metadata.get("annotations", {}), REVISION_ANNOTATION: digest}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def _of_nodes(policy: Mapping[str, Any]) -> bool:
    """Whether it is a NicNodePolicy; objects of a watch carry their kind."""
    return bool(policy["kind"] == "NicNodePolicy")


def _config_map(policy: Mapping[str, Any], operand: Operand, section: Mapping[str, Any], namespace: str) -> Object:
    text = section.get("config")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(policy, operand, _config_map_name(policy, operand), namespace),
        "data": {"config.json": text} if text else {},
    }


def _workload(policy: Mapping[str, Any], operand: Operand, section: Mapping[str, Any], operator: Installed) -> Object:
    spec = policy["spec"]
    suffix = f"-{policy['metadata']['name']}" if _of_nodes(policy) else ""
    owner = f"nnp-{policy['metadata']['name']}" if _of_nodes(policy) else "NicClusterPolicy"
    name = operator.plugins.get(operand.key, operand.name)
    labels = {**operand.labels, "ds-owner": owner}
    if operand.name in labels.values():
        labels["name"] = name
    pod_labels = {**spec.get("labels", {}), **labels}
    if operand.plays is not None:
        pod_labels[OPERAND_LABEL] = operand.plays
    metadata = _metadata(policy, operand, name + suffix, operator.namespace)
    metadata["labels"] = {**pod_labels, **metadata["labels"]}
    annotations = dict(spec.get("annotations", {}))
    if annotations:
        metadata["annotations"] = annotations
    pod_annotations = dict(annotations)
    if operator.rolls and operand.config_map is not None:
        # A changed configuration changes the template, so that Kubernetes replaces the pods.
        pod_annotations[CONFIG_HASH] = hashlib.sha256(str(section.get("config")).encode()).hexdigest()[:16]
    template = {
        "metadata": {"labels": pod_labels, "annotations": pod_annotations},
        "spec": _pod_spec(policy, operand, section),
    }
    body: Object = {"selector": {"matchLabels": labels}, "template": template}
    if operand.kind == "Deployment":
        body["replicas"] = operand.replicas
    return {"apiVersion": "apps/v1", "kind": operand.kind, "metadata": metadata, "spec": body}


def _pod_spec(policy: Mapping[str, Any], operand: Operand, section: Mapping[str, Any]) -> Object:
    spec = policy["spec"]
    section = section if operand.image is None else section[operand.image]
    central = operand.kind == "Deployment"
    affinity = spec.get("deploymentNodeAffinity" if central else "nodeAffinity")
    tolerations = spec.get("deploymentTolerations" if central else "tolerations") or []
    container: Object = {"name": operand.name, "image": _image(section, spec.get("global") or {})}
    resources = (section.get("containerResources") or [{}])[0]
    container["resources"] = {key: resources[key] for key in ("requests", "limits") if key in resources}
    pod: Object = {
        "nodeSelector": {**_NODES[operand.nodes], **({} if central else spec.get("nodeSelector", {}))},
        "tolerations": [*([] if central else [_GPU_TOLERATION]), *tolerations],
        "containers": [container],
    }
    secrets = section.get("imagePullSecrets") or (spec.get("global") or {}).get("imagePullSecrets")
    if secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in secrets]
    if affinity:
        pod["affinity"] = {"nodeAffinity": affinity}
    if not central:
        # each of them writes into the host: binaries, sockets of the kubelet, kernel modules
        container["securityContext"] = {"privileged": True}
        pod["hostNetwork"] = True
    if operand.config_map is not None:
        container["volumeMounts"] = [{"name": "config", "mountPath": "/config"}]
        pod["volumes"] = [{"name": "config", "configMap": {"name": _config_map_name(policy, operand)}}]
    return pod


def _image(section: Mapping[str, Any], fallback: Mapping[str, Any]) -> str:
    repository, version = (section.get(part) or fallback.get(part, "") for part in ("repository", "version"))
    return f"{repository}/{section.get('image', '')}{'@' if version.startswith('sha256:') else ':'}{version}"


def _config_map_name(policy: Mapping[str, Any], operand: Operand) -> str:
    return f"{operand.config_map}-{policy['metadata']['name']}" if _of_nodes(policy) else str(operand.config_map)


def _metadata(policy: Mapping[str, Any], operand: Operand, name: str, namespace: str) -> Object:
    labels = {PLAYED_LABEL: NETWORK_OPERATOR, STATE_LABEL: operand.state, POLICY_LABEL: policy["metadata"]["uid"]}
    return {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner_reference(policy)]}


def owner_reference(owner: Mapping[str, Any]) -> Object:
    """What makes Kubernetes delete an object together with its owner."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_reconciled(policy: Mapping[str, Any]) -> bool:
    """Whether the operator looks at a policy at all: every NicNodePolicy, and the NicClusterPolicy of the one name."""
    return _of_nodes(policy) or policy["metadata"]["name"] == NIC_CLUSTER_POLICY_NAME
