"""The view of an accepted file that the checks use, and what they find in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from .c_numbers import c_integer
from .dialect import Dialect, dialect, dialect_table
from .machine import Machine
from .reader import Element, Reading, read_topology

BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
GPU_CLASS = "0x03"
NIC_CLASS = "0x02"
BRIDGE_CLASSES = ("0x0604", "0x0801")


def quote(text: str) -> str:
    """A name or value of a file for a message, in quotes: plain ASCII, on one line, and shortened."""
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")


@dataclass(frozen=True)
class Published:
    """A machine with a published topology file, and the content of that file."""

    machine: Machine
    reading: Reading

    @cached_property
    def pci(self) -> dict[str, Element]:
        """PCI elements by bus id."""
        return {element.get("busid"): element for element in self.reading.of("pci")}

    @cached_property
    def nearest(self) -> dict[str, frozenset[str]]:
        """Bus ids of the GPUs nearest to each NIC, by the NIC's bus."""
        return {bus_of(busid): nearest_gpus(element) for busid, element in self.pci.items() if is_nic(element)}

    @cached_property
    def cpus(self) -> dict[int, Element]:
        """CPU elements by NUMA node."""
        return {int(element.get("numaid")): element for element in self.reading.of("cpu")}


@dataclass(frozen=True)
class File:
    """A reading, and the data that it is compared with.

    `machine` is the one named by the user. `published` is the file of that machine; without a named one, that of the
    machine with exactly the file's GPUs and NICs: such a file pins values to a machine on purpose.
    """

    reading: Reading
    machine: Machine | None = None
    published: Published | None = None
    dump: Reading | None = None

    @property
    def dialect(self) -> Dialect:
        """The library and release that the file is linted for."""
        return self.reading.dialect

    @cached_property
    def system(self) -> Element:
        """The element that NCCL uses as root."""
        return self.reading.of("system")[0]

    @cached_property
    def cpus(self) -> list[Element]:
        """NUMA nodes."""
        return self.reading.of("cpu")

    @cached_property
    def pci(self) -> list[Element]:
        """PCI functions and bridges."""
        return self.reading.of("pci")

    @cached_property
    def gpus(self) -> list[Element]:
        """PCI elements that are GPUs."""
        return [element for element in self.pci if is_gpu(element)]

    @cached_property
    def nics(self) -> list[Element]:
        """PCI elements that are NICs."""
        return [element for element in self.pci if is_nic(element)]

    @cached_property
    def bridges(self) -> list[Element]:
        """PCI elements that are bridges or switches."""
        return [element for element in self.pci if is_bridge(element)]

    @cached_property
    def unfilled(self) -> set[int]:
        """Identities of the elements that NCCL does not complete from the system.

        NCCL finds a port by its name, and completes nothing above it; above other devices it completes the elements
        from the system (source: NCCL's ncclTopoFillNet, src/graph/xml.cc). Since each rank does so for its own GPU
        alone, only what is above all GPUs is complete in each rank's copy.
        """
        above_gpus = [{id(above) for above in (gpu, *ancestors(gpu))} for gpu in self.gpus]
        own_only = self.dialect.reaches(dialect_table().own_gpu_since)
        filled = set[int]() if not above_gpus else (set.intersection if own_only else set.union)(*above_gpus)
        named = (net for net in self.reading.of("net") if net.get("name"))
        return {id(above) for net in named for above in ancestors(net)} - filled

    @cached_property
    def device_domains(self) -> set[str]:
        """PCI domains of the devices, which are the PCI elements without PCI elements below them."""
        return {element.get("busid")[:4] for element in self.pci if not element.below("pci")}

    def is_made_up(self, element: Element) -> bool:
        """Whether a switch cannot exist in the system: no device has the vendor id 0."""
        vendor, busid = element.values.get("vendor"), element.get("busid")
        if vendor is not None and c_integer(vendor) == 0:
            return True
        return not BUS_ID.fullmatch(busid.lower()) or busid[:4] not in self.device_domains

    def line(self, element: Element, attribute: str = "") -> int:
        """Line of an element, or of one of its attributes."""
        return self.reading.line(element.place(attribute) if attribute else element.offset)

    def published_twin(self, element: Element) -> Element | None:
        """The published element that corresponds to an element, by its own bus id or the one above it."""
        return self._twins.get(id(element))

    @cached_property
    def _twins(self) -> dict[int, Element]:
        """The published element of each element, by its identity; parents come before their children."""
        published = self.published.pci if self.published is not None else {}
        found: dict[int, Element] = {}
        for element in self.reading.elements:
            twin = published.get(element.get("busid")) if element.name == "pci" else found.get(id(element.parent))
            if twin is not None:
                found[id(element)] = twin
        return found


def is_gpu(element: Element) -> bool:
    """Whether a PCI element is a GPU: by its class, or by a `gpu` below it."""
    return element.get("class").startswith(GPU_CLASS) or _holds(element, "gpu")


def is_nic(element: Element) -> bool:
    """Whether a PCI element is a NIC: by its class, or by a `nic` below it."""
    return element.get("class").startswith(NIC_CLASS) or _holds(element, "nic")


def is_bridge(element: Element) -> bool:
    """Whether a PCI element is a bridge or a switch: by its class, or by PCI elements below it."""
    return element.get("class").startswith(BRIDGE_CLASSES) or _holds(element, "pci")


def is_socket(net: Element) -> bool:
    """Whether a port is an interface of NCCL's sockets: in its dumps these have port 0, and no GPUDirect."""
    return "port" in net.values and c_integer(net.get("port")) == 0


def _holds(element: Element, name: str) -> bool:
    return any([child.name == name for child in element.children]) if element.children else False


def ancestors(element: Element) -> Iterator[Element]:
    """Parent, its parent, and so on."""
    above = element.parent
    while above is not None:
        yield above
        above = above.parent


def pci_above(element: Element) -> Iterator[Element]:
    """The PCI elements above an element, nearest first."""
    return (above for above in ancestors(element) if above.name == "pci")


def descendants(element: Element) -> Iterator[Element]:
    """Everything below an element."""
    for child in element.children:
        yield child
        yield from descendants(child)


def bus_of(busid: str) -> str:
    """Domain and bus of a bus id; all functions of an adapter share them."""
    return ":".join(busid.split(":")[:2])


def drop_function(busid: str) -> str:
    """The bus id of a device's function 0, by which NCCL looks for its ports."""
    return f"{busid.partition('.')[0]}.0"


def link_rate(element: Element, width: int) -> float | None:
    """Gb/s of a link before any encoding, for a width in lanes; None if its speed is not written."""
    text = element.values.get("link_speed")
    return None if text is None else _gt_per_second(text) * (width or 16)


@lru_cache(maxsize=256)
def _gt_per_second(link_speed: str) -> float:
    return dialect_table().link_speed(link_speed)


def nearest_gpus(element: Element) -> frozenset[str]:
    """Bus ids of the GPUs below the lowest ancestor that has any: those with the shortest path."""
    for above in ancestors(element):
        if below := frozenset(each.get("busid") for each in descendants(above) if each.name == "pci" and is_gpu(each)):
            return below
    return frozenset()


def published_for(machine: Machine | None, known: Iterable[Machine], reading: Reading) -> Published | None:
    """The published file of a machine; without a machine, that of the known one with exactly the file's addresses."""
    if machine is not None:
        return _published(machine)
    gpus = frozenset(element.get("busid") for element in reading.of("pci") if is_gpu(element))
    nics = frozenset(bus_of(element.get("busid")) for element in reading.of("pci") if is_nic(element))
    for candidate in known:
        if candidate.file and gpus == set(candidate.gpus) and nics == set(map(bus_of, candidate.nics)):
            return _published(candidate)
    return None


def several(elements: Iterable[Element]) -> str:
    """How many further elements share the finding about the first, as text."""
    more = len(list(elements)) - 1
    return f" (and {more} more like it)" if more > 0 else ""


@cache
def _published(machine: Machine) -> Published | None:
    return Published(machine, read_topology(machine.file.encode(), dialect())) if machine.file else None
