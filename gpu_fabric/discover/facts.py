"""What the sources state of a node: single statements with their origin, which `merge` brings into one record.

A source is anything that yields statements: the output of a tool, or objects of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

SubjectKind = Literal["pci", "rdma", "interface", "gpu", "node"]
Value = str | int | tuple[int, ...] | tuple[str, ...]


class Origin(NamedTuple):
    """A line of a file; line 0 is the file as a whole."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Subject(NamedTuple):
    """What a statement is about: a PCI function by its address, an RDMA device or interface by its name, a GPU by its
    number, or the node."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        words = {"pci": "PCI function", "rdma": "RDMA device", "interface": "interface", "gpu": "GPU", "node": "node"}
        return f"{words[self.kind]} {self.name}".rstrip()


class Statement(NamedTuple):
    """One fact. Fields by kind of subject:

    - pci: `class`, `vendor`, `device` (four hex digits each), `name`, `driver`, `path` (the bridges above, from the
      root), `root` (the PCI root, `pci0000:0c`), `rdma` (1: it is known to be an RDMA NIC), `traffic`, `rail`,
      `nearest`, `physical` (of a virtual function, the address of its physical one)
    - rdma: `pci`, `adapter` (the PCI address without port and virtual function), `interface`, `linkType`, `device`,
      `speed` and `ncclSpeed` (Gb/s), `nearest` (numbers of the GPUs that are nearest, and share a PCI switch)
    - interface: `pci`, `mtu`, `linkType`, `speed` (Gb/s)
    - gpu: `pci`, `name`, `memory` (MiB), `listed`, `vendor`
    - node: `names`, `machine`, `gpuName`, `instanceType` (a label of Kubernetes); of its cluster `kubernetes` (the
      version), `taints` (as kubectl writes them), `labels` (key=value, of these nodes alone), `groups` (the number of
      groups of GPU nodes), `pods` and `services` (ranges; `podsBy` is where the first is from), `addresses` (of all
      nodes), `unseen` (nodes on which no operator saw NICs)
    """

    subject: Subject
    field: str
    value: Value
    origin: Origin


@dataclass(frozen=True)
class PciElement:
    """A PCI device in NCCL's dump, with what is below it; `gpu` is its number where it is a GPU."""

    address: str
    attributes: dict[str, str]
    children: tuple[PciElement, ...] = ()
    gpu: int | None = None
    is_nic: bool = False

    def walk(self) -> Iterator[PciElement]:
        """This element and every one below."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class CpuElement:
    """A NUMA node in NCCL's dump."""

    attributes: dict[str, str]
    children: tuple[PciElement, ...]


@dataclass(frozen=True)
class Observation:
    """What one file states; `notes` are things that were seen and left out."""

    statements: tuple[Statement, ...]
    tree: tuple[CpuElement, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Statements:
    """Collects the statements of one file."""

    file: str
    found: list[Statement] = field(default_factory=list)

    def add(self, line: int, kind: SubjectKind, called: str, /, **facts: Value | None) -> None:
        """Add a statement for each fact that is known: not None and not empty."""
        subject, origin = Subject(kind, called), Origin(self.file, line)
        self.found += [
            Statement(subject, key, value, origin) for key, value in facts.items() if value is not None and value != ""
        ]


class DiscoveryError(Exception):
    """Files that cannot be read, or that contradict each other; the text has place, reason and remedy."""
