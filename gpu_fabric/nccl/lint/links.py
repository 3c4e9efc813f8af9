"""Check PCI links: speeds and widths that NCCL knows, and that suffice for the devices below."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.nccl.dialect import dialect_table
from gpu_fabric.nccl.lint.file import File, bus_of, is_bridge, link_rate, pci_above
from gpu_fabric.nccl.lint.report import LineFinding, finding, shown
from gpu_fabric.nccl.reading import Element, c_integer, is_misread

_DEFAULT_PORT = 10_000
"""Mb/s that NCCL assumes for a port whose speed is not above 0."""


def links(file: File) -> Iterator[LineFinding]:
    """Findings about `link_speed` and `link_width`."""
    yield from _speeds(file)
    yield from _widths(file)
    yield from _bottlenecks(file)


def width_of(element: Element) -> int:
    """Lanes as NCCL reads them: 16 by default."""
    return c_integer(element.get("link_width")) or 16


def nic_speed(file: File, nic: Element) -> int | None:
    """Mb/s of the fastest port of a NIC: from the file, or from the shape; None if neither gives it."""
    ports = [net for container in nic.below("nic") for net in container.below("net")]
    speeds = [c_integer(net.get("speed")) for net in ports if "speed" in net.values]
    if speeds:
        return max(speed if speed > 0 else _DEFAULT_PORT for speed in speeds)
    shape = file.shape
    if shape is None or shape.nic_speed_gbps is None:
        return None
    rails = {bus_of(port.pci) for port in shape.nics if port.pci is not None}
    return shape.nic_speed_gbps * 1000 if bus_of(nic.get("busid")) in rails else None


def _speeds(file: File) -> Iterator[LineFinding]:
    table = dialect_table()
    for element in file.pci:
        text = element.values.get("link_speed")
        if text is None:
            if _must_say(file, element):
                message = "a made-up switch without link_speed: NCCL takes it for Gen3"
                remedy = 'write link_speed="16.0 GT/s PCIe", or what the host has'
                yield finding("TOP032", file.line(element), message, remedy)
        elif _gt_in(text) != table.link_speed(text):
            message = f"link_speed {shown(text)} is none that NCCL knows; it reads {table.link_speed(text):g} GT/s"
            yield finding("TOP032", file.line(element, "link_speed"), message, f'write link_speed="{_meant(text)}"')


def _must_say(file: File, element: Element) -> bool:
    """Whether NCCL cannot complete the element from the system.

    Above a port that is found by name NCCL stops, which is a finding of its own.
    """
    return id(element) not in file.unfilled and is_bridge(element) and file.is_made_up(element)


def _gt_in(text: str) -> float | None:
    """The number of GT/s that a text states."""
    number = re.match(r"\s*(\d{1,4}(?:\.\d{1,4})?) *GT/s", text)
    return None if number is None else float(number[1])


def _meant(text: str) -> str:
    """NCCL's spelling of a speed; an example for a text without a known number."""
    number = re.match(r"\s*(\d{1,4}(?:\.\d{1,4})?)", text)
    known = {speed: spelling for spelling, speed in dialect_table().link_speeds.items() if spelling.endswith("PCIe")}
    return known.get(float(number[1]) if number else 0.0, known[16.0])


def _widths(file: File) -> Iterator[LineFinding]:
    widths = dialect_table().link_widths
    for element in file.pci:
        text = element.values.get("link_width")
        if text is None:
            if _must_say(file, element):
                message = "a made-up switch without link_width: NCCL takes 16"
                yield finding("TOP033", file.line(element), message, 'write link_width="16"')
        elif c_integer(text) not in widths or is_misread(text):
            message = f"link_width {shown(text)} is not a width of a PCI link; NCCL reads {width_of(element)} lanes"
            remedy = f"write one of {', '.join(map(str, widths))}"
            yield finding("TOP033", file.line(element, "link_width"), message, remedy)


def _bottlenecks(file: File) -> Iterator[LineFinding]:
    needed: dict[int, tuple[int, Element]] = {}
    for nic in file.nics:
        speed = nic_speed(file, nic) or 0
        for link in (nic, *pci_above(nic)):
            if speed > needed.get(id(link), (0, nic))[0]:
                needed[id(link)] = (speed, nic)
    for element in file.pci:
        speed, nic = needed.get(id(element), (0, element))
        rate = link_rate(element, width_of(element)) if speed else None
        if rate is not None and rate * 1000 < speed and not _is_published(file, element):
            message = (
                f"a link of {rate:g} Gb/s above the NIC {shown(nic.get('busid'))}, which runs at {speed // 1000} Gb/s"
            )
            remedy = "write the link's real speed and width, if these are not"
            yield finding("TOP034", file.line(element, "link_speed"), message, remedy)
        above = element.parent
        if above is not None and above.name == "pci" and "link_width" in above.values:
            wide, narrow = width_of(element), width_of(above)
            if "link_width" in element.values and narrow < wide:
                message = f"{wide} lanes below a switch with {narrow}"
                remedy = "write the switch's real number of lanes, if this is not"
                yield finding("TOP035", file.line(above, "link_width"), message, remedy)


def _is_published(file: File, element: Element) -> bool:
    """Whether the link is the same as in the file published for the machine, which has root ports at 5 GT/s."""
    twin = file.published_twin(element)
    return twin is not None and all(twin.get(name) == element.get(name) for name in ("link_speed", "link_width"))
