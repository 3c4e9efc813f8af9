"""Check ports: their names, their identifiers, and GPUDirect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.nccl.lint.file import File, pci_above, several
from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reading import Element, c_integer

_HEX = re.compile(r"\s*[+-]?(?:0[xX])?([0-9a-fA-F]{1,64})")


def ports(file: File) -> Iterator[LineFinding]:
    """Findings about the `net` elements, and about GPUDirect of GPUs."""
    yield from _names(file)
    yield from _same_ports(file)
    yield from _gpudirect(file)


def _names(file: File) -> Iterator[LineFinding]:
    first: dict[str, Element] = {}
    for net in file.reading.of("net"):
        name = net.get("name")
        if name and name in first:
            message = f"{shown(name)} is on line {file.line(first[name])}, too: NCCL finds the first alone"
            yield finding("TOP051", file.line(net, "name"), message, "name each port once")
        first.setdefault(name, net)


def _same_ports(file: File) -> Iterator[LineFinding]:
    """Ports that NCCL treats as one: it distinguishes them by adapter (`guid`) and number (`port`)."""
    first: dict[tuple[int, int], Element] = {}
    adapters: dict[int, Element] = {}
    for net in file.reading.of("net"):
        adapter = next(pci_above(net), None)
        # A port without an adapter above it is an interface for sockets.
        if "guid" not in net.values or adapter is None:
            continue
        guid, port = _guid(net.get("guid")), c_integer(net.get("port"))
        if adapters.setdefault(guid, adapter) is not adapter:
            message = (
                f"guid {shown(net.get('guid'))} is that of the adapter on line {file.line(adapters[guid])}, too: NCCL "
                "takes their ports for those of one"
            )
            yield finding("TOP057", file.line(net, "guid"), message, "leave guid out, or give each adapter its own")
        elif (guid, port) in first:
            number = f"port {port}" if "port" in net.values else "no port"
            message = (
                f"{number}, as on line {file.line(first[guid, port])} on the same adapter: NCCL takes both for one"
            )
            yield finding(
                "TOP057", file.line(net, "port"), message, "number the ports of an adapter from 1, or leave guid out"
            )
        first.setdefault((guid, port), net)


def _guid(text: str) -> int:
    """The number that C's strtoull with base 16 reads."""
    found = _HEX.match(text)
    return min(int(found[1], 16), 2**64 - 1) if found else 0


def _gpudirect(file: File) -> Iterator[LineFinding]:
    for name in ("net", "gpu"):
        held = [each for each in file.reading.of(name) if "gdr" in each.values and any(pci_above(each))]
        off = [each for each in held if c_integer(each.get("gdr")) == 0]
        if off:
            message = f"gdr {shown(off[0].get('gdr'))}: NCCL does without GPUDirect there{several(off)}"
            remedy = 'leave it out: NCCL asks the driver; gdr="1" is the value of a good one'
            yield finding("TOP056", file.line(off[0], "gdr"), message, remedy)
