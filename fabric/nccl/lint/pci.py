"""PCI functions: addresses, classes and ids, and switches that were copied whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabric.nccl.lint.file import BRIDGE_CLASSES, File, several
from fabric.nccl.lint.report import LineFinding, finding, shown
from fabric.nccl.reading import Element, c_integer

_BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_IDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")


def pci(file: File) -> Iterator[LineFinding]:
    """What is wrong with the `pci` elements."""
    yield from _addresses(file)
    yield from _port_names(file)
    yield from _domains(file)
    yield from _classes(file)
    yield from _ids(file)
    yield from _copies(file)


def _addresses(file: File) -> Iterator[LineFinding]:
    first: dict[str, Element] = {}
    for element in file.pci:
        busid = element.get("busid")
        if not _BUS_ID.fullmatch(busid):
            written = f"busid {shown(busid)}" if busid else "no busid"
            message = f"{written}: it never equals a device's, and NCCL drops what hangs here"
            yield finding(
                "TOP028", file.line(element, "busid"), message, "write dddd:bb:dd.f in lower case, such as 0000:0c:00.0"
            )
        elif busid in first:
            message = f"{busid} is on line {file.line(first[busid])}, too: NCCL finds the first alone"
            yield finding("TOP029", file.line(element, "busid"), message, "write each PCI function once")
        first.setdefault(busid, element)


def _port_names(file: File) -> Iterator[LineFinding]:
    first: dict[str, Element] = {}
    for net in file.reading.of("net"):
        name = net.get("name")
        if name and name in first:
            message = f"{shown(name)} is on line {file.line(first[name])}, too: NCCL finds the first alone"
            yield finding("TOP051", file.line(net, "name"), message, "name each port once")
        first.setdefault(name, net)


def _domains(file: File) -> Iterator[LineFinding]:
    """Made-up switches must not take an address that a device may have."""
    devices = {element.get("busid")[:4] for element in (*file.gpus, *file.nics)}
    for element in file.bridges:
        domain = element.get("busid")[:4]
        if _is_made_up(element) and domain in devices:
            message = f"a made-up switch in PCI domain {shown(domain)}, where real devices are"
            remedy = "give made-up switches a domain of their own, such as ffff:00:00.0"
            yield finding("TOP030", file.line(element, "busid"), message, remedy)


def _is_made_up(element: Element) -> bool:
    vendor, device = element.values.get("vendor"), element.values.get("device")
    return vendor is not None and device is not None and c_integer(vendor) == 0 == c_integer(device)


def _classes(file: File) -> Iterator[LineFinding]:
    without = [element for element in file.pci if not element.get("class")]
    if without:
        message = f"a `pci` without a class: NCCL stops there unless the system knows the device{several(without)}"
        remedy = "write 0x060400 for a switch, 0x030200 for a GPU, 0x020000 for a NIC"
        yield finding("TOP031", file.line(without[0]), message, remedy)
    for element in file.pci:
        written = element.get("class")
        if written and not written.startswith(BRIDGE_CLASSES) and element.below("pci"):
            message = f"class {shown(written)} is no bridge's: NCCL does not look at the devices below"
            yield finding("TOP031", file.line(element, "class"), message, 'write class="0x060400"')


def _ids(file: File) -> Iterator[LineFinding]:
    needed = set(_IDS)
    incomplete = [element for element in file.bridges if not needed <= element.values.keys()]
    for name in _IDS:
        bridges = [element for element in incomplete if name not in element.values]
        if bridges:
            message = f"a switch without `{name}`: releases of NCCL fail on switches that the system does not know"
            yield finding("TOP044", file.line(bridges[0]), f"{message}{several(bridges)}", f'write {name}="0x0000"')


def _copies(file: File) -> Iterator[LineFinding]:
    first: dict[tuple[str, ...], Element] = {}
    of_bridges = {id(element) for element in file.bridges}
    for element in file.bridges:
        below = [child for child in element.below("pci") if id(child) not in of_bridges]
        if not below:
            continue
        devices = tuple(sorted(child.get("busid") for child in below))
        if devices in first:
            message = f"the same devices as below the switch on line {file.line(first[devices])}: a copy left as it was"
            yield finding("TOP048", file.line(element), message, "write the addresses of the devices that are here")
        first.setdefault(devices, element)
