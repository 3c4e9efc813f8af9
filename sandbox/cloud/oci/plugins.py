"""The device plug-ins for GPUs that Oracle runs inside a cluster.

NVIDIA's is installed in every cluster and skips nodes with the label that disables it; AMD's is an add-on.
`sandbox.hardware` decides what they advertise. The other add-ons have no effect here. Names of the DaemonSets are made
up.
"""

from __future__ import annotations

from typing import Any

from ...hardware.operands import GPU_PLUGIN
from ..daemon_sets import plugin_daemon_set
from . import facts

Object = dict[str, Any]


def plugin_objects(shapes: list[str], addons: list[str]) -> list[Object]:
    """The objects of a cluster with machines of these shapes and with these add-ons."""
    from gpu_fabric.catalog import catalog

    found = []
    for vendor, runs in (("nvidia", True), ("amd", catalog().oke_clusters.instances.amd_gpu_plugin in addons)):
        own = [name for name in shapes if (shape := facts.shape_of(name)) and shape.gpus.vendor == vendor]
        if own and runs:
            found.append(_daemon_set(f"{vendor}-gpu-device-plugin", own))
    return found


def _daemon_set(name: str, shapes: list[str]) -> Object:
    from gpu_fabric.catalog import catalog

    off = catalog().oke_clusters.instances.gpu_plugin_off_label
    nodes: list[Object] = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": shapes},
        {"key": off, "operator": "NotIn", "values": ["true"]},
    ]
    return plugin_daemon_set(name, GPU_PLUGIN, nodes)
