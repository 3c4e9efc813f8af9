"""`ip -d link`: MTU and kind of the interfaces, and their PCI functions; as text, or as JSON by -j.

Source: iproute2's ip/ipaddress.c (parentbus and parentdev since 5.14, with -d).
"""

from __future__ import annotations

import json
import re
from typing import Any

from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.text import Output, pci_address


def json_rows(output: Output, command: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a list.

    Raises:
        DiscoveryError: the text is not a JSON list of objects.
    """
    remedy = f"give the whole output of `{command}`"
    rows = output.json(remedy)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        output.refuse(1, "this is not a list of objects", remedy)
    lines = output.text.split("\n")
    found: list[tuple[int, dict[str, Any]]] = []
    at = 0
    for row in rows:
        name = json.dumps(row.get("ifname", ""))
        at = next((number for number in range(at, len(lines)) if name in lines[number]), at)
        found.append((at + 1, row))
    return found


COMMAND = "ip -d link"
LIKE = "3: ens1np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 …"

_HEAD = re.compile(r"[0-9]+: ([^\s:@]+)(?:@\S+)?: <[^>]*>.*?\bmtu ([0-9]{1,6})\b.*")
_KIND = re.compile(r"\s+link/(\S+)")
_PARENT = re.compile(r"\bparentbus pci parentdev (\S+)")
_KINDS = {"ether": "ether", "infiniband": "infiniband"}


def is_output(output: Output) -> bool:
    """Whether a text looks like the output of `ip link`."""
    if output.text.lstrip().startswith("["):
        return '"mtu"' in output.text and '"ifname"' in output.text
    return any(_HEAD.match(line) for _, line in output.lines())


def read(output: Output) -> Observation:
    """The interfaces of Ethernet and InfiniBand ports."""
    found = Statements(output.file)
    if output.text.lstrip().startswith("["):
        _read_rows(output, found)
    else:
        _read_lines(output, found)
    return Observation(tuple(found.found))


def _read_rows(output: Output, found: Statements) -> None:
    for line, row in json_rows(output, f"{COMMAND} -j"):
        name, mtu = row.get("ifname"), row.get("mtu")
        if not isinstance(name, str) or not isinstance(mtu, int):
            output.refuse(line, "an entry of `ip -j link` without ifname and mtu", "give its whole output")
        address = pci_address(str(row.get("parentdev", ""))) if row.get("parentbus") == "pci" else None
        _add(found, line, name, mtu, str(row.get("link_type", "")), address)


def _read_lines(output: Output, found: Statements) -> None:
    name, mtu, at, kind, address = "", 0, 0, "", None
    for number, line in output.lines():
        if line[0].isspace():
            # The first link/ is the interface's own; those after it are of its virtual functions.
            kind = kind or (begin[1] if (begin := _KIND.match(line)) else "")
            if parent := _PARENT.search(line):
                address = pci_address(parent[1])
            continue
        head = _HEAD.fullmatch(line)
        if head is None:
            output.refuse_line(number, line, LIKE, COMMAND)
        _add(found, at, name, mtu, kind, address)
        name, mtu, at, kind, address = head[1], int(head[2]), number, "", None
    _add(found, at, name, mtu, kind, address)


def _add(found: Statements, line: int, name: str, mtu: int, kind: str, address: str | None) -> None:
    if kind in _KINDS:
        found.add(line, "interface", name, mtu=mtu, linkType=_KINDS[kind], pci=address)
