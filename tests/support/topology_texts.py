"""Topology files for the linter's tests, and the edits that make others of them."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.nccl.machines import machine_of, published_machines
from gpu_fabric.nccl.topology import topology_xml
from nccl_topology.dialect import Library, dialect
from nccl_topology.linter import Linter
from nccl_topology.machine import Machine
from nccl_topology.reader import read_topology

Edit = Callable[[str], str]

LEAN = """<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:00:01.0" class="0x060400" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" \
subsystem_device="0x0000" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0000:0c:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:00:02.0" class="0x060400" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" \
subsystem_device="0x0000" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:89:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0000:86:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
"""
"""What a file for others needs, and no more: two sockets, each with a made-up switch above a GPU and a NIC."""


class Mutation(NamedTuple):
    """An edit of a file, the rules it breaks, and whether NCCL's reader still takes it."""

    name: str
    edit: Edit
    rules: set[str]
    accepted: bool = True


@cache
def full(shape: str) -> str:
    """The topology file of a shape of the guide, as the program writes it."""
    known = catalog()
    return topology_xml(known.shapes[shape], known.topologies[shape])


def machine(shape: str) -> Machine:
    """A shape of the catalog, as the linter knows it."""
    return machine_of(catalog().shapes[shape])


def linter_of(
    library: Library | None = None,
    version: str | None = None,
    shape: Shape | str | None = None,
    dump: str | None = None,
) -> Linter:
    """A linter that knows the machines of the catalog, as `gpu-fabric lint` has it."""
    row = catalog().shapes[shape] if isinstance(shape, str) else shape
    dumped = None if dump is None else dump.encode()
    return Linter.of(library, version, None if row is None else machine_of(row), dumped, published_machines())


def put(old: str, new: str) -> Edit:
    """The first occurrence of a text replaced; it must be there."""

    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


def match(pattern: str, new: str) -> Edit:
    """The first match of a pattern replaced; there must be one."""

    def edit(text: str) -> str:
        edited, count = re.subn(pattern, new, text, count=1, flags=re.DOTALL)
        assert count, pattern
        return edited

    return edit


def on(busid: str, edit: Edit) -> Edit:
    """An edit of the one line that has this bus id."""

    def edited(text: str) -> str:
        lines = text.splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if f'<pci busid="{busid}"' in line)
        lines[place] = edit(lines[place])
        return "".join(lines)

    return edited


def both(*edits: Edit) -> Edit:
    """Several edits, one after the other."""

    def edited(text: str) -> str:
        for edit in edits:
            text = edit(text)
        return text

    return edited


def block(text: str, busid: str) -> str:
    """The lines of the PCI element at a bus id, with what it holds."""
    found = re.search(rf'( *)<pci busid="{busid}"[^\n]*[^/]>\n.*?\n\1</pci>\n', text, re.DOTALL)
    assert found, busid
    return found[0]


def without(busid: str) -> Edit:
    """The file without a PCI element and what it holds."""
    return lambda text: text.replace(block(text, busid), "")


def before(place: str, added: str) -> Edit:
    """A text put in before the first occurrence of another."""
    return put(place, added + place)


def after(place: str, added: str) -> Edit:
    """A text put in behind the first occurrence of another."""
    return put(place, place + added)


def bridge(number: int, below: str = "") -> str:
    """A made-up switch, with what it holds."""
    ids = 'vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" subsystem_device="0x0000"'
    link = 'link_speed="32.0 GT/s PCIe" link_width="16"'
    tag = f'<pci busid="fffe:{number // 8:02x}:00.{number % 8}" class="0x060400" {ids} {link}'
    return f"{tag}>\n{below}</pci>\n" if below else f"{tag}/>\n"


def bridges(groups: int, each: int) -> str:
    """That many made-up switches, each above as many others."""
    parts = []
    for group in range(groups):
        first = group * (each + 1)
        parts.append(bridge(first, "".join(bridge(first + 1 + place) for place in range(each))))
    return "".join(parts)


def nested(levels: int) -> str:
    """Made-up switches, one below the other."""
    text = ""
    for level in range(levels):
        text = bridge(level, text)
    return text


def is_accepted(data: bytes, version: str | None = None) -> bool:
    """Whether NCCL's reader accepts the whole file; without a version, the newest release's reader.

    The reader accepts a file without a `system`, and then ignores it.
    """
    return read_topology(data, dialect(version=version)).rejection is None
