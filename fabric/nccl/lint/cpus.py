"""NUMA nodes: their numbers, CPU masks and identity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fabric.nccl.dialect import dialect_table
from fabric.nccl.lint.file import File
from fabric.nccl.lint.report import LineFinding, finding, shown
from fabric.nccl.reading import Element

_INTEGER = re.compile(r"-?\d{1,9}")
_DECIMAL = re.compile(r"\d{1,9}")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*")


@dataclass(frozen=True)
class _Mask:
    """A well-formed CPU mask; `first` is the width of its first group, which the kernel may write shorter."""

    cpu: Element
    groups: int
    first: int
    cpus: int


def cpus(file: File) -> Iterator[LineFinding]:
    """What is wrong with the `cpu` elements by themselves and among each other."""
    yield from _numbers(file)
    yield from _masks(file)
    yield from _identities(file)


def cpus_of(mask: str) -> int | None:
    """A CPU mask as a number, bit n for CPU n; None where it is malformed."""
    return int(mask.replace(",", ""), 16) if _MASK.fullmatch(mask) else None


def numa_number(cpu: Element) -> int | None:
    """The NUMA node, where it is written as a whole number."""
    text = cpu.get("numaid")
    return int(text) if _INTEGER.fullmatch(text) else None


def _numbers(file: File) -> Iterator[LineFinding]:
    seen: set[int] = set()
    for cpu in file.cpus:
        number = numa_number(cpu)
        if number is None:
            written = f"numaid {shown(cpu.get('numaid'))}" if "numaid" in cpu.values else "no numaid"
            message = f"{written}: NCCL needs the number of the NUMA node"
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
            message = f"affinity {shown(text)} is no CPU mask: helper threads would run anywhere"
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
    """Masks of another length than most: the kernel prints all of one machine alike."""
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
        if arch is not None and arch not in table.cpu_archs:
            message = f"arch {shown(arch)}: NCCL knows no such CPU and takes the slowest path between sockets"
            remedy = f"write one of {', '.join(table.cpu_archs)}, or leave it out"
            yield finding("TOP040", file.line(cpu, "arch"), message, remedy)
        if arch not in (None, "x86_64"):
            continue
        if vendor is not None and vendor not in table.cpu_vendors:
            message = f"vendor {shown(vendor)}: NCCL knows no such maker of x86 CPUs"
            remedy = f"write one of {', '.join(map(shown, table.cpu_vendors))}, or leave it out"
            yield finding("TOP040", file.line(cpu, "vendor"), message, remedy)
        for name in ("familyid", "modelid"):
            value = cpu.values.get(name)
            if value is not None and not _DECIMAL.fullmatch(value):
                message = f"{name} {shown(value)}: it selects the speed between sockets"
                yield finding("TOP040", file.line(cpu, name), message, "write the decimal number of /proc/cpuinfo")
