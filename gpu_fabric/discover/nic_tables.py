"""`show_gids`, `mst status -v` and `lshw -businfo`: tables with a row for each GID, RDMA device or interface.

Sources: the script show_gids of mlnx-tools; NVIDIA's manual of MFT 4.26 (mst synopsis) and posted outputs, in which a
bond is one RDMA device with two rows; posted outputs of lshw.
"""

from __future__ import annotations

import re
from collections import Counter

from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.rdma_links import other_port
from gpu_fabric.discover.text import Output, pci_address

GIDS, MST, LSHW = "show_gids", "mst status -v", "lshw -c network -businfo"

_GID = re.compile(
    r"([A-Za-z][\w.-]*)\s+([0-9]+)\s+[0-9]+\s+(?:[0-9a-f]{4}:){7}[0-9a-f]{4}\s+(?:[0-9.]+\s+)?v[12](?:\s+(\S+))?"
)
_GID_HEAD = re.compile(r"DEV\s+PORT\s+INDEX\s+GID\b.*|---\s.*|n_gids_found=[0-9]+")
_MST = re.compile(
    r"\S+\(rev:\w+\)\s+\S+(?:\s+(\S*[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s+(?!net-)([A-Za-z]\S*))?(?:\s+net-(\S+))?(?:\s+-?[0-9]+)?)?"
)
_MST_HEAD = re.compile(r"MST (modules|devices):|-+|\s+MST PCI .*|PCI devices:|DEVICE_TYPE\s+MST\b.*|\.|\s+No MST .*")
_LSHW = re.compile(r"(?:(\S+@\S+)\s+)?(?:(\S+)\s+)?(network|display|bridge|generic|storage|processor)\s+\S.*")
_LSHW_HEAD = re.compile(r"Bus info\s+Device\s+Class\s+Description|=+|WARNING: .*")


def is_gids(output: Output) -> bool:
    """Whether a text looks like the output of show_gids."""
    return "n_gids_found=" in output.text or any(_GID.fullmatch(line) for _, line in output.lines())


def read_gids(output: Output) -> Observation:
    """The RDMA devices with interface."""
    found, others = Statements(output.file), dict[str, None]()
    for number, line in output.lines():
        row = _GID.fullmatch(line)
        if row is None and not _GID_HEAD.fullmatch(line):
            output.refuse_line(
                number, line, "mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a00:0001 10.0.0.1 v2 ens1np0", GIDS
            )
        elif row is not None and row[2] != "1":
            others[other_port(row[1], row[2])] = None
        elif row is not None:
            found.add(number, "rdma", row[1], interface=row[3])
    return Observation(tuple(dict.fromkeys(found.found)), notes=tuple(others))


def is_mst(output: Output) -> bool:
    """Whether a text looks like the output of `mst status -v`."""
    return any(line.startswith("DEVICE_TYPE") for _, line in output.lines())


def read_mst(output: Output) -> Observation:
    """The RDMA devices with PCI address and interface; of a bond the interface alone, since it has two addresses."""
    found, rows = Statements(output.file), list[tuple[int, str | None, str, str | None]]()
    for number, line in output.lines():
        row = _MST.fullmatch(line)
        if row is None and not _MST_HEAD.fullmatch(line):
            like = "ConnectX7(rev:0) /dev/mst/mt4129_pciconf0 18:00.0 mlx5_0 net-ens1np0 0"
            output.refuse_line(number, line, like, MST)
        if row is not None and row[2]:
            # Of two ports of one device, as ConnectX-3 has them, none can be told apart.
            interface = row[3] if row[3] and "," not in row[3] else None
            rows.append((number, pci_address(row[1]), row[2], interface))
    ports = Counter(name for _, _, name, _ in rows)
    for number, address, name, interface in rows:
        found.add(number, "rdma", name, pci=address if ports[name] == 1 else None, interface=interface)
    bonds = (name for name, count in ports.items() if count > 1)
    return Observation(
        tuple(found.found),
        notes=tuple(f"RDMA device {name} is a bond, whose ports are no rails by themselves" for name in bonds),
    )


def is_lshw(output: Output) -> bool:
    """Whether a text looks like the output of `lshw -businfo`."""
    return any(line.startswith("Bus info") for _, line in output.lines())


def read_lshw(output: Output) -> Observation:
    """The interfaces with PCI address."""
    found = Statements(output.file)
    for number, line in output.lines():
        row = _LSHW.fullmatch(line)
        if row is None and not _LSHW_HEAD.fullmatch(line):
            output.refuse_line(number, line, "pci@0000:18:00.0 ens1np0 network MT2910 Family [ConnectX-7]", LSHW)
        elif row is not None and row[1] and row[2] and row[3] == "network":
            bus, _, address = row[1].partition("@")
            found.add(number, "interface", row[2], pci=pci_address(address) if bus == "pci" else None)
    return Observation(tuple(found.found))
