"""NCCL's or RCCL's dump (NCCL_TOPO_DUMP_FILE), or a topology file, as the library itself reads it.

In a dump the PCI address of a NIC is that of its adapter: the libraries write function 0, and device 00 for a virtual
function (source: NCCL's src/transport/net_ib, `ncclIbGetPciPath`).
"""

from __future__ import annotations

from gpu_fabric.discover.facts import CpuElement, Observation, PciElement, Statements
from gpu_fabric.discover.rdma_links import other_port
from gpu_fabric.discover.text import Output, pci_address
from nccl_topology.c_numbers import c_integer
from nccl_topology.dialect import Library, dialect
from nccl_topology.reader import Element, Reading, read_topology

COMMAND = "NCCL_TOPO_DUMP_FILE=topo.xml"


def is_output(output: Output) -> bool:
    """Whether a text looks like a topology file."""
    return "<system" in output.text[:4096]


def read(output: Output) -> Observation:
    """GPUs, NICs with port speeds, and the PCI tree."""
    reading = _reading(output)
    found, notes = Statements(output.file), list[str]()
    for element in reading.of("gpu"):
        address = _address_above(element)
        number = c_integer(element.get("dev", "-1"))
        if address is not None and 0 <= number < 1000:
            # The PCI function says whose GPU it is; else the format of the file does.
            vendor = None if _vendor_above(element) else reading.dialect.format.gpu_vendor
            found.add(reading.line(element.offset), "gpu", str(number), pci=address, listed=1, vendor=vendor)
    for element in reading.of("pci"):
        _add_function(found, reading, element)
    for element in reading.of("net"):
        _add_port(found, notes, reading, element)
    tree = tuple(CpuElement(dict(cpu.values), _below(cpu)) for cpu in reading.of("cpu"))
    return Observation(tuple(found.found), tree, tuple(notes))


def _reading(output: Output) -> Reading:
    readings = [read_topology(output.data, dialect(library)) for library in Library]
    whole = next((reading for reading in readings if reading.rejection is None and reading.elements), None)
    if whole is not None:
        return whole
    # Of the two libraries, the one that came further is the one that wrote the file.
    furthest = max(readings, key=lambda reading: reading.rejection.offset if reading.rejection else 0)
    line = furthest.line(furthest.rejection.offset) if furthest.rejection else 1
    output.refuse(
        line,
        f"{furthest.dialect.name} stops reading here, so this is not a whole dump",
        f"write it again with {COMMAND}, or see `gpu-fabric lint FILE`",
    )


def _function_above(element: Element | None) -> Element | None:
    """The innermost PCI device around an element."""
    while element is not None and element.name != "pci":
        element = element.parent
    return element


def _address_above(element: Element | None) -> str | None:
    function = _function_above(element)
    return None if function is None else pci_address(function.get("busid"))


def _vendor_above(element: Element) -> str | None:
    function = _function_above(element)
    return None if function is None else _id(function.get("vendor"))


def _path(element: Element) -> tuple[str, ...]:
    above: list[str] = []
    parent = element.parent
    while parent is not None and parent.name == "pci":
        above.append(parent.get("busid").lower())
        parent = parent.parent
    return tuple(reversed(above))


def _id(text: str) -> str | None:
    digits = text.lower().removeprefix("0x")
    return digits if len(digits) == 4 and all(digit in "0123456789abcdef" for digit in digits) else None


def _add_function(found: Statements, reading: Reading, element: Element) -> None:
    address, code = pci_address(element.get("busid")), element.get("class").removeprefix("0x")[:4]
    if address is None or not (code.startswith(("02", "03", "12")) or element.below("gpu") or element.below("nic")):
        return
    line = reading.line(element.offset)
    facts = {"class": code or None, "vendor": _id(element.get("vendor")), "device": _id(element.get("device"))}
    found.add(line, "pci", address, **facts, path=_path(element))


def _add_port(found: Statements, notes: list[str], reading: Reading, element: Element) -> None:
    name, port, line = element.get("name"), c_integer(element.get("port", "0")), reading.line(element.offset)
    if not name or port == 0 or "+" in name or c_integer(element.get("coll", "0")):
        # Port 0 is an interface of NCCL's sockets, and a name with + is several ports that NCCL merged.
        return
    siblings = element.parent.below("net") if element.parent is not None else []
    if port > 1 and [each.get("name") for each in siblings].count(name) > 1:
        notes.append(other_port(name, str(port)))
        return
    megabits = c_integer(element.get("speed", "0"))
    found.add(
        line,
        "rdma",
        name,
        adapter=_address_above(element),
        ncclSpeed=megabits // 1000 if megabits > 0 and megabits % 1000 == 0 else None,
    )


def _below(element: Element) -> tuple[PciElement, ...]:
    return tuple(_pci(child) for child in element.below("pci"))


def _pci(element: Element) -> PciElement:
    gpus = element.below("gpu")
    return PciElement(
        address=(pci_address(element.get("busid")) or element.get("busid")).lower(),
        attributes=dict(element.values),
        children=_below(element),
        gpu=c_integer(gpus[0].get("dev", "-1")) if gpus else None,
        is_nic=bool(element.below("nic")) or element.get("class").startswith("0x02"),
    )
