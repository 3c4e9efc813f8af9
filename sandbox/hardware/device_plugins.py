"""What the device plug-ins do when their pod starts on a node: pure functions.

A plug-in reads its configuration once, when it starts, and offers from then on what that matched on the node's
devices. What it loaded is written to its pod, so that nothing later changes it, not even a restart of the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError

from gpu_fabric.base.api_objects import annotations_of as annotations_of
from gpu_fabric.base.api_objects import labels_of as labels_of
from gpu_fabric.k8s.base import KubernetesModel, compact_json
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from ..simulated_nodes import CLOUD_DEVICES_ANNOTATION, GPUS_ANNOTATION, RDMA_MODE_ANNOTATION
from .advertise import advertised, shared
from .amd_operands import NIC_PLUGIN, nics
from .inventory import INVENTORY_ANNOTATION, devices_of
from .operands import CLOUD_PLUGIN, GPU_PLUGIN, OPERAND_LABEL, OPERATOR_PLUGIN, RDMA_PLUGIN, SRIOV_PLUGIN

Object = dict[str, Any]
_Config = TypeVar("_Config", bound=KubernetesModel)

LOADED_ANNOTATION = "sandbox.gpu-fabric/loaded"
"""On a device plug-in's pod: extended resource -> number of devices, as JSON, since the plug-in has started."""


class PluginFailureError(ValueError):
    """The plug-in ends as soon as it starts, and will go on doing so until what it met has changed."""


def is_plugin(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is a device plug-in: for GPUs, of a Network or SR-IOV operator, of Spiderpool, or of a cloud."""
    operand = labels_of(pod).get(OPERAND_LABEL)
    return (
        operand in (GPU_PLUGIN, CLOUD_PLUGIN, NIC_PLUGIN, SRIOV_PLUGIN, RDMA_PLUGIN) or app_of(pod) == OPERATOR_PLUGIN
    )


def app_of(pod: Mapping[str, Any]) -> str | None:
    """What a pod of a SR-IOV operator is (CONFIG_DAEMON, OPERATOR_PLUGIN); of another its label `app`, if any."""
    return labels_of(pod).get("app")


def runs(pod: Mapping[str, Any]) -> bool:
    """Whether a pod's containers run: the kubelet has started them, and the pod is not being deleted."""
    return "deletionTimestamp" not in pod["metadata"] and (pod.get("status") or {}).get("phase") == "Running"


def loaded(pod: Mapping[str, Any]) -> dict[str, int] | None:
    """What a plug-in offers since it started; None while it has not."""
    text = annotations_of(pod).get(LOADED_ANNOTATION)
    return None if text is None else json.loads(text)


def started(resources: Mapping[str, int]) -> Object:
    """The metadata patch of a plug-in's pod that has loaded its configuration."""
    return {"metadata": {"annotations": {LOADED_ANNOTATION: compact_json(dict(resources))}}}


def configuration(pod: Mapping[str, Any], config_maps: Mapping[str, Object]) -> str:
    """The configuration text that a plug-in's pod finds in the volume it mounts; a SR-IOV operator writes one per node.

    Raises PluginFailureError where there is none.
    """
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("configMap") or {}).get("name")
        data = config_maps.get(f"{pod['metadata']['namespace']}/{name}", {}).get("data") if name else None
        for key in ("config.json", pod["spec"].get("nodeName")):
            if data and key in data:
                return str(data[key])
    raise PluginFailureError("there is no configuration")


def resources_of(
    pod: Mapping[str, Any], node: Mapping[str, Any], config_maps: Mapping[str, Object]
) -> Mapping[str, int]:
    """Extended resource -> number of devices of a node for the device plug-in whose pod starts there.

    Raises what `configuration` and `matched` raise.
    """
    plugin = labels_of(pod).get(OPERAND_LABEL, SRIOV_PLUGIN)
    if plugin == NIC_PLUGIN:
        return nics(devices_of(annotations_of(node)))
    annotation = {GPU_PLUGIN: GPUS_ANNOTATION, CLOUD_PLUGIN: CLOUD_DEVICES_ANNOTATION}.get(plugin)
    if annotation is None:
        return matched(plugin, _with_prefix(configuration(pod, config_maps), pod), node)
    # without the annotation the node shows its GPUs by itself
    devices: dict[str, int] = json.loads(annotations_of(node).get(annotation, "{}"))
    return devices


def _with_prefix(text: str, pod: Mapping[str, Any]) -> str:
    """A configuration with the prefix that the plug-in's command gives to resources that name none."""
    said = [text for item in pod["spec"]["containers"] for text in item.get("args") or ()]
    prefix = next((text.partition("=")[2] for text in said if text.startswith("--resource-prefix=")), None)
    if prefix is None:
        return text
    document = json.loads(text)
    for resource in document.get("resourceList") or ():
        resource.setdefault("resourcePrefix", prefix)
        # A field that the plug-in fills itself; and as in Go, a field's name counts in any case.
        resource.pop("SelectorObj", None)
        resource["selectors"] = {name[0].lower() + name[1:]: value for name, value in resource["selectors"].items()}
    return compact_json(document)


def matched(plugin: str, config: str, node: Mapping[str, Any]) -> Mapping[str, int]:
    """Extended resource -> number of devices of a node for a plug-in (SRIOV_PLUGIN, RDMA_PLUGIN) that starts there.

    Raises PluginFailureError for a configuration that breaks the plug-in's rules, and where the RDMA one meets the
    mode `exclusive`; pydantic.ValidationError (a ValueError, too) for a node whose inventory cannot be read.
    """
    annotations = annotations_of(node)
    if plugin == RDMA_PLUGIN and annotations.get(RDMA_MODE_ANNOTATION) == "exclusive":
        raise PluginFailureError("the RDMA shared device plug-in does not start in RDMA mode exclusive")
    return _matched(plugin, config, annotations.get(INVENTORY_ANNOTATION, "[]"))


# Nodes of one shape share their inventory's text and all share the configuration's: a few results serve any cluster.
@lru_cache(maxsize=64)
def _matched(plugin: str, config: str, inventory: str) -> Mapping[str, int]:
    devices = devices_of({INVENTORY_ANNOTATION: inventory})
    if plugin == SRIOV_PLUGIN:
        return advertised(_parsed(SriovDevicePluginConfig, config), devices)
    return shared(_parsed(RdmaSharedDevicePluginConfig, config), devices)


def _parsed(model: type[_Config], text: str) -> _Config:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        reasons = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise PluginFailureError(f"the configuration: {reasons}") from None


def offered(pods: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What the plug-ins that run on one node offer together."""
    together: dict[str, int] = {}
    for pod in pods:
        if runs(pod):
            together |= loaded(pod) or {}
    return together


def readiness_patch(pod: Mapping[str, Any], now: str, *, ready: bool = True) -> Object:
    """The strategic merge patch of a pod's status that makes it ready or unready; empty when it is.

    `now` is an RFC 3339 time.
    """
    status, wanted = pod.get("status") or {}, str(ready)
    conditions = [
        {"type": condition["type"], "status": wanted, "lastTransitionTime": now}
        for condition in status.get("conditions", ())
        if condition["status"] != wanted and (ready or condition["type"] in ("Ready", "ContainersReady"))
    ]
    if not conditions:
        return {}
    containers = [{**item, "ready": ready} for item in status.get("containerStatuses", ())]
    return {"status": {"conditions": conditions, "containerStatuses": containers}}
