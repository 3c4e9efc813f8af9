"""What DigitalOcean runs inside a cluster, as far as a fabric depends on it: the managed device plug-ins.

What they advertise on a node is decided by `sandbox.hardware`, as with those of the operators: the shared device
plug-in by its ConfigMap, the GPU plug-in by the GPUs of the machine. Names of the DaemonSets are made up, and so is how
many pods may share a NIC: DigitalOcean publishes neither.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gpu_fabric.k8s.device_plugin import RdmaSelectors, RdmaSharedDevicePluginConfig, RdmaSharedResource
from ...hardware.operands import GPU_PLUGIN, RDMA_PLUGIN
from ..daemon_sets import NAMESPACE, plugin_daemon_set
from .doks_nodes import GPU_BRAND_LABEL, shape_of

Object = dict[str, Any]

NVIDIA_GPUS, AMD_GPUS, RDMA = "nvidiaGpuDevicePlugin", "amdGpuDevicePlugin", "rdmaSharedDevicePlugin"
"""The plug-ins by the names of the cluster's arguments."""

_RDMA_NAME = "rdma-shared-device-plugin"
_SHARES = 1000


def managed_objects(enabled: Mapping[str, bool], sizes: Collection[str]) -> list[Object]:
    """The objects of a cluster with pools of these sizes, given which plug-ins are switched on; others are off.

    The shared device plug-in offers rdma/fabric0, rdma/fabric1, … for as many NICs as the largest of the sizes has.
    """
    shapes = [shape for size in sizes if (shape := shape_of(size))]
    found: list[Object] = []
    for plugin, vendor in ((NVIDIA_GPUS, "nvidia"), (AMD_GPUS, "amd")):
        if enabled.get(plugin):
            found.append(_daemon_set(f"{vendor}-gpu-device-plugin", GPU_PLUGIN, {GPU_BRAND_LABEL: vendor}))
    interfaces = max(([nic.interface for nic in shape.nics if nic.interface] for shape in shapes), key=len, default=[])
    if enabled.get(RDMA) and interfaces:
        found += [
            _shared(interfaces),
            _daemon_set(_RDMA_NAME, RDMA_PLUGIN, {}, config_map=_RDMA_NAME),
        ]
    return found


def _shared(interfaces: list[str]) -> Object:
    resources = tuple(
        RdmaSharedResource(
            resource_name=interface, rdma_hca_max=_SHARES, selectors=RdmaSelectors(if_names=(interface,))
        )
        for interface in interfaces
    )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _RDMA_NAME, "namespace": NAMESPACE},
        "data": {"config.json": RdmaSharedDevicePluginConfig(config_list=resources).to_json()},
    }


def _daemon_set(name: str, plays: str, nodes: Mapping[str, str], config_map: str | None = None) -> Object:
    gpus: Object = {"key": GPU_BRAND_LABEL, "operator": "Exists"}
    own: list[Object] = [{"key": key, "operator": "In", "values": [value]} for key, value in nodes.items()]
    return plugin_daemon_set(name, plays, [gpus, *own], config_map)
