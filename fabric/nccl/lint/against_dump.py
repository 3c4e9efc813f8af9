"""A file against what NCCL made of a machine: NCCL_TOPO_DUMP_FILE writes its tree, merged and trimmed."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.nccl.lint.file import File, is_gpu, is_nic
from fabric.nccl.lint.report import LineFinding, finding, shown
from fabric.nccl.reading import Element, Reading


def against_dump(file: File) -> Iterator[LineFinding]:
    """PCI elements that are in one of the two alone, or hang elsewhere; nothing without a dump."""
    if file.dump is None:
        return
    dumped = _by_busid(file.dump)
    written = _by_busid(file.reading)
    for busid, element in written.items():
        line = file.line(element, "busid")
        if busid not in dumped:
            message = f"{shown(busid)} is not in the dump: NCCL found no device of the job below"
            yield finding("TOP046", line, message, "correct the address, or leave the branch out")
        elif (here := _above(element)) != (there := _above(dumped[busid])):
            message = f"{shown(busid)} is below {here}; in the dump, below {there}"
            yield finding("TOP046", line, message, "hang it where the dump has it")
    for busid, element in dumped.items():
        if busid not in written and (is_gpu(element) or is_nic(element)):
            message = f"{shown(busid)} of the dump is not in the file: NCCL placed it by itself"
            yield finding("TOP046", file.line(file.system), message, "write it below its switch")


def _by_busid(reading: Reading) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in reading.of("pci"):
        found.setdefault(element.get("busid"), element)
    return found


def _above(element: Element) -> str:
    above = element.parent
    if above is None:
        return "nothing"
    return f"NUMA node {shown(above.get('numaid'))}" if above.name == "cpu" else shown(above.get("busid"))
