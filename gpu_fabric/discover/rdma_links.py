"""`rdma link` and `ibdev2netdev`: RDMA devices with their interfaces.

Sources: iproute2's rdma/link.c (5.x and 6.x; text, and JSON by -j), whose LID and subnet prefix the kernel sends for
InfiniBand ports alone (drivers/infiniband/core/nldev.c); the script ibdev2netdev of MLNX_OFED and DOCA-Host, also -v.
"""

from __future__ import annotations

import re

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.ip_link import json_rows
from gpu_fabric.discover.text import Output, pci_address

LINK_COMMAND = "rdma link"
LINK_LIKE = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens6f0np0"
NETDEV_COMMAND = "ibdev2netdev -v"
NETDEV_LIKE = "mlx5_0 port 1 ==> ibp24s0 (Up)"

_DEVICE = re.compile(r"[A-Za-z][\w.-]*")
_LINK = re.compile(r"\s*(?:[0-9]+(?:/[0-9]+)?: )?(?:link )?([A-Za-z][\w.-]*)/([0-9]+):? (.*\bstate \w+.*)")
_LEFT = re.compile(
    r"(?:(\S*[0-9]:\S+\.[0-7])\s+)?([A-Za-z][\w.-]*)(?:\s+\((?:mt|MT)([0-9]+) .*?)?"
    r"\s.*?\bport ([0-9]+)(?: \(\s*\w+\s*\))?\s*"
)
_RIGHT = re.compile(r"\s*([^\s()]+)?\s*(?:\(\w*\))?(?: \(\w+\))?")


def is_link(output: Output) -> bool:
    """Whether a text looks like the output of `rdma link`, as text or JSON."""
    if output.text.lstrip().startswith("["):
        return '"physical_state"' in output.text
    return any(_LINK.match(line) for _, line in output.lines())


def read_link(output: Output) -> Observation:
    """The RDMA devices with interface and link type."""
    found, others = Statements(output.file), list[str]()
    if output.text.lstrip().startswith("["):
        _read_link_rows(output, found, others)
        return Observation(tuple(found.found), notes=tuple(others))
    for number, line in output.lines():
        link = _LINK.fullmatch(line)
        if link is None:
            output.refuse_line(number, line, LINK_LIKE, LINK_COMMAND)
        words = link[3].split()
        interface = words[words.index("netdev") + 1] if "netdev" in words[:-1] else ""
        _add(found, others, number, link[1], link[2], interface, "lid" in words or "subnet_prefix" in words)
    return Observation(tuple(found.found), notes=tuple(others))


def _read_link_rows(output: Output, found: Statements, others: list[str]) -> None:
    for line, row in json_rows(output, f"{LINK_COMMAND} -j"):
        device, _, port = str(row.get("ifname", "")).partition("/")
        if not _DEVICE.fullmatch(device) or "state" not in row:
            output.refuse(line, "an entry of `rdma -j link` without ifname and state", "give its whole output")
        of_infiniband = "lid" in row or "subnet_prefix" in row
        _add(found, others, line, device, port or str(row.get("port", 1)), str(row.get("netdev", "")), of_infiniband)


def _add(
    found: Statements, others: list[str], line: int, device: str, port: str, interface: str, of_infiniband: bool
) -> None:
    if port != "1":
        others.append(other_port(device, port))
        return
    found.add(line, "rdma", device, linkType="infiniband" if of_infiniband else "ether", interface=interface)


def other_port(device: str, port: str) -> str:
    """The note on a port that cannot be a rail."""
    return f"port {port} of RDMA device {device} is left out: a rail is a device with one port"


def is_netdev(output: Output) -> bool:
    """Whether a text looks like the output of ibdev2netdev."""
    return any("==>" in line and " port " in line for _, line in output.lines())


def read_netdev(output: Output) -> Observation:
    """The RDMA devices with interface; with -v also PCI address and device id."""
    found, others = Statements(output.file), list[str]()
    for number, line in output.lines():
        left, arrow, right = line.partition("==>")
        device, interface = _LEFT.fullmatch(left), _RIGHT.fullmatch(right)
        if not arrow or device is None or interface is None:
            output.refuse_line(number, line, NETDEV_LIKE, NETDEV_COMMAND)
        written, name, part, port = device.groups()
        address = pci_address(written) if written else None
        if written and address is None:
            output.refuse(number, f"{shown(written)} is not a PCI address", f"give the output of `{NETDEV_COMMAND}`")
        if port != "1":
            others.append(other_port(name, port))
            continue
        # The number after MT is the PCI device id, decimal.
        number_of_part = f"{int(part):04x}" if part and int(part) < 2**16 else None
        found.add(number, "rdma", name, pci=address, interface=interface[1], device=number_of_part)
    return Observation(tuple(found.found), notes=tuple(others))
