"""What the stack's own DaemonSet for virtual functions does on a node, read from its pod: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .inventory import SimulatedDevice, with_virtual_functions

COMPONENT_LABEL = "gpu-fabric/component"
COMPONENT = "virtual-functions"


class NodeSetupError(ValueError):
    """The pod's script fails on this node; the pod does not become ready."""


@dataclass(frozen=True)
class NodeSetup:
    """The settings of the pod's container: the NICs, how many virtual functions each gets, and the RDMA mode.

    `rdma_mode` is None where the pod leaves the mode alone. `plugin_pod` is a prefix of the device plug-in's pod as
    namespace/name, which must restart after virtual functions were created. Empty: none must.
    """

    addresses: tuple[str, ...]
    vfs_per_nic: int
    rdma_mode: str | None
    plugin_pod: str

    def applied(self, devices: Sequence[SimulatedDevice]) -> tuple[SimulatedDevice, ...]:
        """The node's devices afterwards; NICs that the node does not have are passed over.

        Raises NodeSetupError where a NIC cannot have so many.
        """
        physical = {device.pci: device for device in devices if not device.is_vf}
        chosen = [physical[address] for address in self.addresses if address in physical]
        for device in chosen:
            if self.vfs_per_nic > device.total_vfs:
                raise NodeSetupError(
                    f"{device.interface} ({device.pci}): {self.vfs_per_nic} virtual functions of at most "
                    f"{device.total_vfs}"
                )
        return with_virtual_functions(devices, {device.pci: self.vfs_per_nic for device in chosen})


def environment_of(pod: Mapping[str, Any]) -> dict[str, str]:
    """The variables of all containers of a pod; one that is not a plain value is empty."""
    containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
    return {entry["name"]: entry.get("value") or "" for item in containers for entry in item.get("env") or ()}


def setup_of(pod: Mapping[str, Any]) -> NodeSetup:
    """What a pod of the DaemonSet is to do, from the environment of whichever of its containers has it.

    Raises NodeSetupError where a variable is missing or cannot be read.
    """
    environment = environment_of(pod)
    try:
        return NodeSetup(
            addresses=tuple(re.split(r"[\s,]+", environment["PCI_ADDRESSES"].strip())),
            vfs_per_nic=int(environment["VFS_PER_NIC"]),
            rdma_mode=environment.get("RDMA_MODE") or None,
            plugin_pod=environment.get("PLUGIN_POD", ""),
        )
    except KeyError as missing:
        raise NodeSetupError(f"the variable {missing} is not set") from None
    except ValueError:
        raise NodeSetupError(f"VFS_PER_NIC is not a number: {environment['VFS_PER_NIC']!r}") from None
