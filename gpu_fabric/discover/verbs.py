"""`ibstat`, `ibstatus` and `ibv_devinfo`: link layer, rate and device id of RDMA devices.

Sources: infiniband-diags/ibstat.c, infiniband-diags/scripts/ibstatus and libibverbs/examples/devinfo.c of rdma-core.
"""

from __future__ import annotations

import re

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.rdma_links import other_port
from gpu_fabric.discover.text import Output

_CA = re.compile(r"CA '([A-Za-z][\w.-]*)'")
_STATUS = re.compile(r"Infiniband device '([A-Za-z][\w.-]*)' port ([0-9]+) status:")
_HCA = re.compile(r"hca_id:\s*([A-Za-z][\w.-]*)")
_PAIR = re.compile(r"\s+([A-Za-z][\w /()-]*?):\s*(.*)")
_PORT = re.compile(r"Port ([0-9]+)")
_LINK_TYPES = {"ethernet": "ether", "infiniband": "infiniband"}
_RATE = re.compile(r"([0-9]{1,5})(?: Gb/sec .*)?")
IBSTAT, IBSTATUS, DEVINFO = "ibstat", "ibstatus", "ibv_devinfo"


def is_ibstat(output: Output) -> bool:
    """Whether a text looks like the output of ibstat."""
    return any(_CA.match(line) for _, line in output.lines())


def is_ibstatus(output: Output) -> bool:
    """Whether a text looks like the output of ibstatus."""
    return any(_STATUS.match(line) for _, line in output.lines())


def is_devinfo(output: Output) -> bool:
    """Whether a text looks like the output of ibv_devinfo."""
    return any(_HCA.match(line) for _, line in output.lines())


def read_ibstat(output: Output) -> Observation:
    """Link type, device id, and the rate of active ports in Gb/s."""
    return _read(output, _CA, IBSTAT, "CA 'mlx5_0'")


def read_ibstatus(output: Output) -> Observation:
    """Link type, and the rate of active ports in Gb/s."""
    return _read(output, _STATUS, IBSTATUS, "Infiniband device 'mlx5_0' port 1 status:")


def read_devinfo(output: Output) -> Observation:
    """Link type and device id."""
    return _read(output, _HCA, DEVINFO, "hca_id: mlx5_0")


def _read(output: Output, head: re.Pattern[str], command: str, like: str) -> Observation:
    found, others = Statements(output.file), list[str]()
    device, port, is_active = "", "1", False
    for number, line in output.lines():
        if begin := head.match(line):
            device, port, is_active = begin[1], begin[2] if head.groups > 1 else "1", False
            if port != "1":
                others.append(other_port(device, port))
            continue
        pair = _PAIR.fullmatch(line)
        if pair is None or not device:
            # GIDs and the like of ibv_devinfo -v have no colon after a name.
            if device and line[0].isspace():
                continue
            output.refuse_line(number, line, like, command)
        key, value = pair[1].lower(), pair[2].strip()
        if (begin := _PORT.fullmatch(pair[1])) or key == "port":
            port, is_active = (begin[1] if begin else value), False
            if port != "1":
                others.append(other_port(device, port))
        elif key == "state":
            is_active = "active" in value.lower()
        elif key in ("ca type", "vendor_part_id"):
            digits = value.removeprefix("MT")
            if digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) < 2**16:
                found.add(number, "rdma", device, device=f"{int(digits):04x}")
        elif port == "1" and key in ("link layer", "link_layer"):
            if value.lower() not in _LINK_TYPES:
                output.refuse(number, f"{shown(value)} is not a link layer", f"give the whole output of `{command}`")
            found.add(number, "rdma", device, linkType=_LINK_TYPES[value.lower()])
        elif port == "1" and key == "rate" and is_active and (rate := _RATE.fullmatch(value)):
            found.add(number, "rdma", device, speed=int(rate[1]) or None)
    return Observation(tuple(found.found), notes=tuple(others))
