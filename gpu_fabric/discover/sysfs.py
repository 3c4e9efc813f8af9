"""`ls -l /sys/bus/pci/devices /sys/class/infiniband /sys/class/net`: the kernel's links to devices.

A link's target is the device's path in the PCI tree: pci0000:15/0000:15:01.0/0000:18:00.0/infiniband/mlx5_0
(source: the kernel's documentation of sysfs, sysfs-rules).
"""

from __future__ import annotations

import re

from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.text import Output, pci_address

COMMAND = "ls -l /sys/bus/pci/devices /sys/class/infiniband /sys/class/net"
LIKE = "mlx5_0 -> ../../devices/pci0000:15/0000:15:01.0/0000:18:00.0/infiniband/mlx5_0"

_LINK = re.compile(r"(?:.*\s)?(\S+) -> (\S*devices/\S*)")
_OTHER = re.compile(r"total [0-9]+|\S+:|-\S+ .*|d\S+ .*")


def is_output(output: Output) -> bool:
    """Whether a text looks like such a list."""
    return any(_LINK.fullmatch(line) for _, line in output.lines())


def read(output: Output) -> Observation:
    """PCI paths, and the PCI functions of RDMA devices and interfaces."""
    found = Statements(output.file)
    for number, line in output.lines():
        link = _LINK.fullmatch(line)
        if link is None:
            if _OTHER.fullmatch(line):
                continue
            output.refuse_line(number, line, LIKE, COMMAND)
        name, target = link.groups()
        parts = target.rstrip("/").split("/")
        addresses = [address for part in parts if (address := pci_address(part)) and part.count(":") == 2]
        if not addresses:
            continue
        if pci_address(parts[-1]) == addresses[-1]:
            found.add(number, "pci", addresses[-1], path=tuple(addresses[:-1]))
        elif len(parts) > 1 and parts[-2] == "infiniband":
            found.add(number, "rdma", name, pci=addresses[-1])
        elif len(parts) > 1 and parts[-2] == "net":
            found.add(number, "interface", name, pci=addresses[-1])
    return Observation(tuple(found.found))
