"""Check PCI functions: addresses, classes and ids, and duplicated switches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.nccl.dialect import Library, dialect_table
from gpu_fabric.nccl.lint.file import BUS_ID, File, is_bridge, several, without_function
from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reading import Element, c_integer

# As C reads it: text after the number is ignored.
_ID = re.compile(r"\s*0[xX][0-9a-fA-F]{1,4}(?![0-9a-fA-F])")
_MELLANOX = 0x15B3
_IDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")


def pci(file: File) -> Iterator[LineFinding]:
    """Findings about the `pci` elements."""
    yield from _addresses(file)
    yield from _domains(file)
    yield from _classes(file)
    yield from _ids(file)
    yield from _values_of_ids(file)
    yield from _copies(file)
    yield from _functions_of_nics(file)
    yield from _functions_of_gpus(file)


def _addresses(file: File) -> Iterator[LineFinding]:
    first: dict[str, Element] = {}
    for element in file.pci:
        busid = element.get("busid")
        # A switch's bus id need not match a device: NCCL uses its position in the tree.
        if not BUS_ID.fullmatch(busid) and not (busid and is_bridge(element)):
            written = f"busid {shown(busid)}" if busid else "no busid"
            message = f"{written}: it never equals a device's, and NCCL drops what hangs here"
            yield finding(
                "TOP028", file.line(element, "busid"), message, "write dddd:bb:dd.f in lower case, such as 0000:0c:00.0"
            )
        elif busid in first:
            message = f"{busid} is on line {file.line(first[busid])}, too: NCCL finds the first alone"
            yield finding("TOP029", file.line(element, "busid"), message, "write each PCI function once")
        first.setdefault(busid, element)


def _domains(file: File) -> Iterator[LineFinding]:
    """Made-up switches must not use the address of a possible device."""
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
    without = [element for element in file.pci if not element.get("class") and id(element) not in file.unfilled]
    remedy = "write 0x060400 for a switch, 0x030200 for a GPU, 0x020000 for a NIC"
    unknown = [element for element in without if is_bridge(element) and file.is_made_up(element)]
    if unknown:
        message = f"a made-up switch without a class: NCCL stops there{several(unknown)}"
        yield finding("TOP031", file.line(unknown[0]), message, remedy)
    from_system = [element for element in without if element not in unknown]
    if from_system:
        message = (
            f"a `pci` without a class: NCCL has it from the system for a device that it sees{several(from_system)}"
        )
        yield finding("TOP052", file.line(from_system[0]), message, remedy)
    closed = dialect_table().closed_classes
    for element in file.pci:
        written = element.get("class")
        if written.startswith(closed) and element.below("pci"):
            message = f"class {shown(written)} is not a bridge's: NCCL does not look at the devices below"
            yield finding("TOP031", file.line(element, "class"), message, 'write class="0x060400"')


def _ids(file: File) -> Iterator[LineFinding]:
    needed = set(_IDS)
    incomplete = [element for element in file.bridges if not needed <= element.values.keys()]
    for name in _IDS:
        bridges = [element for element in incomplete if name not in element.values]
        if bridges:
            message = f"a switch without `{name}`: releases of NCCL fail on switches that the system does not know"
            yield finding("TOP044", file.line(bridges[0]), f"{message}{several(bridges)}", f'write {name}="0x0000"')


def _values_of_ids(file: File) -> Iterator[LineFinding]:
    for element in file.pci:
        for name in _IDS:
            text = element.get(name)
            if text and not _ID.match(text):
                message = f"{name} {shown(text)}: NCCL reads {c_integer(text):#x}"
                remedy = f'write four hex digits behind 0x, such as {name}="0x1000"'
                yield finding("TOP053", file.line(element, name), message, remedy)


def _functions_of_nics(file: File) -> Iterator[LineFinding]:
    """NCCL looks for a port at its device's address with function 0, and for NVIDIA's NICs also with device 0."""
    for element in file.nics:
        busid = element.get("busid")
        if not BUS_ID.fullmatch(busid):
            continue
        remedy = f"write busid {busid[:8]}00.0, where NCCL merges the adapter's ports and virtual functions"
        if busid != without_function(busid):
            message = f"a NIC at {busid}: NCCL looks for it at {without_function(busid)}"
        elif c_integer(element.get("vendor")) == _MELLANOX and busid[8:10] != "00":
            message = f"a NIC at {busid}: NCCL since 2.18.1 looks for it at device 00"
            remedy = f"{remedy}; or have jobs set NCCL_IB_MERGE_VFS=0"
        else:
            continue
        yield finding("TOP054", file.line(element, "busid"), message, remedy)


def _functions_of_gpus(file: File) -> Iterator[LineFinding]:
    parts, version = dialect_table().gpu_parts, file.dialect.version
    if file.dialect.library is Library.RCCL or (version is not None and not version.has_reached(parts.since)):
        return
    for element in file.gpus:
        busid = element.get("busid")
        if BUS_ID.fullmatch(busid) and int(busid[-1]) & parts.mask:
            message = (
                f"a GPU at {busid}: NCCL since {parts.since} keeps these bits of the function for its own, and stops"
            )
            yield finding("TOP055", file.line(element, "busid"), message, "write the GPU's address, with function 0")


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
