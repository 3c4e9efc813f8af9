"""A file that the library's reader takes, as the checks look at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from fabric.catalog import Shape, catalog
from fabric.nccl.dialect import Dialect, dialect, dialect_table
from fabric.nccl.reader import read_topology
from fabric.nccl.reading import Element, Reading
from fabric.nccl.topology import topology_xml

GPU_CLASS = "0x03"
NIC_CLASS = "0x02"
BRIDGE_CLASSES = ("0x0604", "0x0801")


@dataclass(frozen=True)
class Published:
    """A shape whose PCI tree is in the catalog, and its topology file as this program writes it."""

    shape: Shape
    reading: Reading

    @cached_property
    def pci(self) -> dict[str, Element]:
        """PCI elements by bus id."""
        return {element.get("busid"): element for element in self.reading.of("pci")}

    @cached_property
    def held(self) -> dict[str, frozenset[tuple[str, ...]]]:
        """What each PCI element holds down to the next one, by bus id: names, and for a link its target and count."""
        return {busid: frozenset(map(kind_of, _held(element))) for busid, element in self.pci.items()}

    @cached_property
    def port_numbers(self) -> dict[str, frozenset[str]]:
        """`dev` of the ports that each NIC holds, by bus id."""
        return {
            busid: frozenset(net.get("dev") for nic in element.below("nic") for net in nic.below("net"))
            for busid, element in self.pci.items()
        }

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
    """A reading with what it is compared to.

    `shape` is the one named by the user. `published` is that shape's own file, or, where none is named, that of the
    shape whose GPUs and NICs are exactly the file's: what such a file pins to a machine is there on purpose.
    """

    reading: Reading
    shape: Shape | None = None
    published: Published | None = None
    dump: Reading | None = None

    @property
    def dialect(self) -> Dialect:
        """What the file is judged by."""
        return self.reading.dialect

    @cached_property
    def system(self) -> Element:
        """The element NCCL takes for the root."""
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

    def line(self, element: Element, attribute: str = "") -> int:
        """Line of an element, or of one of its attributes."""
        return self.reading.line(element.place(attribute) if attribute else element.offset)

    def published_twin(self, element: Element) -> Element | None:
        """The element of the published file at the bus id that this one has, or hangs below."""
        return self._twins.get(id(element))

    @cached_property
    def _twins(self) -> dict[int, Element]:
        """The published element of each element, by its identity; parents come before what they hold."""
        published = self.published.pci if self.published is not None else {}
        found: dict[int, Element] = {}
        for element in self.reading.elements:
            twin = published.get(element.get("busid")) if element.name == "pci" else found.get(id(element.parent))
            if twin is not None:
                found[id(element)] = twin
        return found


def is_gpu(element: Element) -> bool:
    """Whether a PCI element is a GPU: by its class, or because one hangs below."""
    return element.get("class").startswith(GPU_CLASS) or _holds(element, "gpu")


def is_nic(element: Element) -> bool:
    """Whether a PCI element is a NIC: by its class, or because one hangs below."""
    return element.get("class").startswith(NIC_CLASS) or _holds(element, "nic")


def is_bridge(element: Element) -> bool:
    """Whether a PCI element is a bridge or a switch: by its class, or because PCI elements hang below."""
    return element.get("class").startswith(BRIDGE_CLASSES) or _holds(element, "pci")


def _holds(element: Element, name: str) -> bool:
    return any([child.name == name for child in element.children]) if element.children else False


def ancestors(element: Element) -> Iterator[Element]:
    """Parent, its parent, and so on."""
    above = element.parent
    while above is not None:
        yield above
        above = above.parent


def pci_above(element: Element) -> Iterator[Element]:
    """The PCI elements that hold an element, from the nearest on."""
    return (above for above in ancestors(element) if above.name == "pci")


def descendants(element: Element) -> Iterator[Element]:
    """Everything below an element."""
    for child in element.children:
        yield child
        yield from descendants(child)


def bus_of(busid: str) -> str:
    """Domain and bus of a bus id, which all functions of an adapter share."""
    return ":".join(busid.split(":")[:2])


def gt_per_second(element: Element) -> float | None:
    """GT/s of a link as NCCL reads it; None where the file leaves it to the system."""
    text = element.values.get("link_speed")
    return None if text is None else _speed_read(text)


@lru_cache(maxsize=256)
def _speed_read(text: str) -> float:
    return dialect_table().link_speed(text)


def link_rate(element: Element, width: int) -> float | None:
    """Gb/s of a link before any encoding, with a width of its own or one given; None where its speed is not written."""
    speed = gt_per_second(element)
    return None if speed is None else speed * (width or 16)


def nearest_gpus(element: Element) -> frozenset[str]:
    """Bus ids of the GPUs below the lowest place that has any below it: those a NIC reaches by the shortest way."""
    for above in ancestors(element):
        if below := frozenset(each.get("busid") for each in descendants(above) if each.name == "pci" and is_gpu(each)):
            return below
    return frozenset()


def published_for(shape: Shape | None, reading: Reading) -> Published | None:
    """The published file of a shape; without one, of the shape whose addresses are exactly the file's."""
    if shape is not None:
        return _published().get(shape.name)
    gpus = frozenset(element.get("busid") for element in reading.of("pci") if is_gpu(element))
    nics = frozenset(bus_of(element.get("busid")) for element in reading.of("pci") if is_nic(element))
    for candidate in _published().values():
        rails = {bus_of(nic.pci) for nic in candidate.shape.nics if nic.pci is not None}
        if gpus == set(candidate.shape.gpus.pci) and nics == rails:
            return candidate
    return None


def kind_of(element: Element) -> tuple[str, ...]:
    """The name of an element, and for a link what it leads to."""
    if element.name == "nvlink":
        return element.name, element.get("target"), element.get("count")
    return (element.name,)


def _held(element: Element) -> Iterator[Element]:
    for child in element.children:
        if child.name != "pci":
            yield child
            yield from _held(child)


def several(elements: Iterable[Element]) -> str:
    """How many further elements a finding about the first is also about."""
    more = len(list(elements)) - 1
    return f" (and {more} more like it)" if more > 0 else ""


@cache
def _published() -> dict[str, Published]:
    known = catalog()
    found: dict[str, Published] = {}
    for name, tree in known.topologies.items():
        text = topology_xml(known.shapes[name], tree)
        found[name] = Published(known.shapes[name], read_topology(text.encode(), dialect()))
    return found
