"""The dialect of topology files: what each release of NCCL and RCCL accepts, from `dialect.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.shape import Vendor
from gpu_fabric.catalog.version import Version, VersionText
from gpu_fabric.model import FrozenModel


class Library(StrEnum):
    """The library that reads the file; the two formats are not interchangeable."""

    NCCL = "nccl"
    RCCL = "rccl"


class Limits(FrozenModel):
    """The limits of the releases from `since` on; see `dialect.yaml`."""

    since: VersionText
    nodes: int
    children: int
    links: int
    matching_quotes: bool
    in_use: bool = True


class Format(FrozenModel):
    """A library's format: its GPU vendor and number, the children of each element, and attributes of its own."""

    gpu_vendor: Vendor
    format_version: int
    children: dict[str, tuple[str, ...]]
    own_attributes: dict[str, tuple[str, ...]]


class GpuParts(FrozenModel):
    """The bits of a GPU's function number that must be 0 from a release on."""

    since: VersionText
    mask: int


class CpuModels(FrozenModel):
    """The attributes of x86 CPUs by which a library distinguishes a vendor's models, from a release on."""

    vendors: tuple[str, ...]
    reads: tuple[str, ...]
    since: VersionText | None = None
    families: tuple[int, ...] = ()


class DialectTable(FrozenModel):
    """`dialect.yaml`; port speeds are in Mb/s, link speeds in GT/s."""

    newest: VersionText
    limits: dict[Library, tuple[Limits, ...]]
    libraries: dict[Library, Format]
    attributes: dict[str, tuple[str, ...]]
    required: dict[str, tuple[str, ...]]
    required_since: dict[str, dict[str, VersionText]]
    own_gpu_since: VersionText
    added: dict[str, tuple[str, ...]]
    needed_unfilled: dict[str, tuple[str, ...]]
    elements_since: dict[str, VersionText]
    attributes_since: dict[str, dict[str, VersionText]]
    pinned: dict[str, tuple[str, ...]]
    closed_classes: tuple[str, ...]
    gpu_parts: GpuParts
    gpu_numbers: int
    merged_switches: int
    link_speeds: dict[str, float]
    link_widths: tuple[int, ...]
    cpu_archs: tuple[str, ...]
    cpu_vendors: tuple[str, ...]
    cpu_models: dict[Library, tuple[CpuModels, ...]]
    port_speeds: tuple[int, ...]

    def link_speed(self, text: str) -> float:
        """GT/s as NCCL reads a `link_speed`."""
        return next((speed for known, speed in self.link_speeds.items() if text.startswith(known)), 8.0)

    def cpu_vendor(self, text: str) -> str | None:
        """The x86 CPU vendor that NCCL recognizes in a `vendor`; None if it recognizes none."""
        return next((known for known in self.cpu_vendors if text.startswith(known)), None)


@cache
def dialect_table() -> DialectTable:
    """The table of this checkout."""
    return DialectTable.model_validate(read_table(Path(__file__).with_name("dialect.yaml")))


def library_for(shape: Shape | None) -> Library:
    """The library for a shape's GPUs; NCCL if no shape is named."""
    rows = dialect_table().libraries
    return next((name for name, row in rows.items() if shape and row.gpu_vendor == shape.gpus.vendor), Library.NCCL)


@dataclass(frozen=True)
class Dialect:
    """The library and release that a file is linted for.

    `version` is None for a file that must work with any release: it is read as the newest release reads it (`reads`),
    and must fit the limits of all of them (`holds`). With a version, both are the limits of that release.
    """

    library: Library
    version: Version | None
    reads: Limits
    holds: Limits
    format: Format
    children: Mapping[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """The library's name in messages."""
        return self.library.upper()

    def children_of(self, element: str) -> tuple[str, ...]:
        """Names of the elements that the reader accepts as children of an element."""
        return self.children.get(element, ())

    def attributes_of(self, element: str) -> tuple[str, ...]:
        """Names of the attributes that the library reads from an element."""
        return (*dialect_table().attributes.get(element, ()), *self.format.own_attributes.get(element, ()))

    def reaches(self, since: Version | None) -> bool:
        """Whether the file is for a release from `since` on; one for any release is."""
        return since is None or self.version is None or self.version.has_reached(since)

    @property
    def is_known(self) -> bool:
        """Whether the release is not newer than the facts about releases here."""
        return self.version is None or dialect_table().newest.has_reached(self.version)

    def required_of(self, element: str) -> tuple[str, ...]:
        """The attributes without which the library stops at an element."""
        table = dialect_table()
        later = table.required_since.get(element, {}).items()
        return (*table.required.get(element, ()), *(name for name, since in later if self.reaches(since)))

    def models_of(self, vendor: str) -> CpuModels | None:
        """By what the library derives the speed between sockets, for x86 CPUs of a vendor; None if by the vendor."""
        rows = dialect_table().cpu_models[self.library]
        return next((row for row in rows if vendor.startswith(row.vendors) and self.reaches(row.since)), None)


@cache
def dialect(library: Library = Library.NCCL, version: str | None = None) -> Dialect:
    """The dialect of a release, or the common subset of all releases.

    Raises:
        ValueError: the version is not a valid version of NCCL, which begins with 2.
    """
    table = dialect_table()
    rows, form = table.limits[library], table.libraries[library]
    if version is None:
        return Dialect(library, None, rows[-1], _lowest([row for row in rows if row.in_use]), form, form.children)
    found = Version.parse(version)
    if found.release[0] != 2:
        raise ValueError(f"{version!r} is not a version of NCCL; write 2.MINOR.PATCH, such as 2.27.3")
    limits = next(row for row in reversed(rows) if found.has_reached(row.since))
    skipped = {name for name, since in table.elements_since.items() if not found.has_reached(since)}
    children = {name: tuple(each for each in below if each not in skipped) for name, below in form.children.items()}
    return Dialect(library, found, limits, limits, form, children)


def _lowest(rows: Sequence[Limits]) -> Limits:
    return Limits(
        since=rows[0].since,
        nodes=min(row.nodes for row in rows),
        children=min(row.children for row in rows),
        links=min(row.links for row in rows),
        matching_quotes=all(row.matching_quotes for row in rows),
    )
