"""NUMA nodes: their numbers, CPU masks and identity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gpu_fabric.nccl.dialect import dialect_table
from gpu_fabric.nccl.lint.file import File
from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reading import Element, c_integer, is_misread

# The kernel's format: NCCL compares the text with sysfs.
_NODE = re.compile(r"-1|0|[1-9]\d{0,8}")
_NUMBER = re.compile(r"\s*[+-]?\d")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*")


@dataclass(frozen=True)
class _Mask:
    """A valid CPU mask; `first` is the width of its first group, which the kernel may write shorter."""

    cpu: Element
    groups: int
    first: int
    cpus: int


def cpus(file: File) -> Iterator[LineFinding]:
    """Findings about the `cpu` elements, each by itself and together."""
    yield from _numbers(file)
    yield from _masks(file)
    yield from _identities(file)


def cpus_of(mask: str) -> int | None:
    """A CPU mask as a number, bit n for CPU n; None if it is malformed."""
    return int(mask.replace(",", ""), 16) if _MASK.fullmatch(mask) else None


def numa_number(cpu: Element) -> int | None:
    """The NUMA node; None if it is not in the kernel's format."""
    text = cpu.get("numaid")
    return int(text) if _NODE.fullmatch(text) else None


def _numbers(file: File) -> Iterator[LineFinding]:
    seen: set[int] = set()
    for cpu in file.cpus:
        number = numa_number(cpu)
        if number is None:
            written = f"numaid {shown(cpu.get('numaid'))}" if "numaid" in cpu.values else "no numaid"
            message = f"{written}: NCCL compares it with the number of the NUMA node as the kernel writes it"
            yield finding("TOP024", file.line(cpu, "numaid"), message, 'write the node\'s number, such as numaid="0"')
        elif number in seen:
            message = f"NUMA node {number} is there twice"
            yield finding(
                "TOP024", file.line(cpu, "numaid"), message, "write each node once, with all that hangs below"
            )
        else:
            seen.add(number)


def _masks(file: File) -> Iterator[LineFinding]:
    masks: list[_Mask] = []
    for cpu in file.cpus:
        text = cpu.values.get("affinity")
        if text is None:
            continue
        numbers = cpus_of(text)
        if numbers is None:
            message = f"affinity {shown(text)} is not a CPU mask: helper threads would run anywhere"
            remedy = "write groups of eight hex digits, highest CPUs first, with commas between, as in node*/cpumap"
            yield finding("TOP025", file.line(cpu, "affinity"), message, remedy)
            continue
        groups = text.split(",")
        masks.append(_Mask(cpu, len(groups), len(groups[0]), numbers))
    yield from _unlike(file, masks)
    taken: dict[int, str] = {}
    for mask in masks:
        number = mask.cpu.get("numaid")
        for other, node in taken.items():
            if other & mask.cpus:
                shared = (other & mask.cpus).bit_length() - 1
                message = f"CPU {shared} is in the mask of NUMA node {shown(node)}, too"
                yield finding("TOP026", file.line(mask.cpu, "affinity"), message, "write each CPU into one mask")
                break
        taken[mask.cpus] = number


def _unlike(file: File, masks: list[_Mask]) -> Iterator[LineFinding]:
    """Masks with an unusual length: the kernel prints all masks of a machine with the same length."""
    if not masks:
        return
    usual, _ = Counter((mask.groups, mask.first) for mask in masks).most_common(1)[0]
    for mask in masks:
        if (mask.groups, mask.first) != usual:
            message = (
                f"a mask of {mask.groups} groups, {mask.first} digits in the first; the others have {usual[0]} and "
                f"{usual[1]}: a digit or group is missing or too many"
            )
            remedy = "copy the mask as /sys/devices/system/node/node*/cpumap prints it"
            yield finding("TOP026", file.line(mask.cpu, "affinity"), message, remedy)


def _identities(file: File) -> Iterator[LineFinding]:
    table = dialect_table()
    for cpu in file.cpus:
        arch, vendor = cpu.values.get("arch"), cpu.values.get("vendor")
        if arch is not None and not arch.startswith(table.cpu_archs):
            message = f"arch {shown(arch)}: NCCL knows no such CPU and takes the slowest path between sockets"
            remedy = f"write one of {', '.join(table.cpu_archs)}, or leave it out"
            yield finding("TOP040", file.line(cpu, "arch"), message, remedy)
        if arch is not None and not arch.startswith("x86_64"):
            continue
        if vendor is not None and table.cpu_vendor(vendor) is None:
            message = f"vendor {shown(vendor)}: NCCL knows no such maker of x86 CPUs"
            remedy = f"write one of {', '.join(map(shown, table.cpu_vendors))}, or leave it out"
            yield finding("TOP040", file.line(cpu, "vendor"), message, remedy)
        if vendor is not None and not file.dialect.reads_model_of(vendor):
            continue
        for name in ("familyid", "modelid"):
            value = cpu.values.get(name)
            if value is not None and (not _NUMBER.match(value) or is_misread(value)):
                read = f"NCCL reads {c_integer(value)}, and it selects the speed between sockets"
                remedy = "write the decimal number of /proc/cpuinfo, without a zero before it"
                yield finding("TOP040", file.line(cpu, name), f"{name} {shown(value)}: {read}", remedy)
