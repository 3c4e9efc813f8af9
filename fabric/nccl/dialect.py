"""The dialect of topology files: what each release of NCCL and RCCL takes, from `dialect.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from fabric.catalog import Shape
from fabric.catalog.shape import Vendor
from fabric.catalog.version import Version, VersionText
from fabric.model import FrozenModel
from fabric.tables import read_table


class Library(StrEnum):
    """Which library reads the file; their formats are not interchangeable."""

    NCCL = "nccl"
    RCCL = "rccl"


class Limits(FrozenModel):
    """What the releases from `since` on can hold; see `dialect.yaml`."""

    since: VersionText
    nodes: int
    children: int
    links: int
    matching_quotes: bool


class Format(FrozenModel):
    """A library's format: whose GPUs it is for, its number, what each element may hold, and attributes of its own."""

    gpu_vendor: Vendor
    format_version: int
    children: dict[str, tuple[str, ...]]
    own_attributes: dict[str, tuple[str, ...]]


class DialectTable(FrozenModel):
    """`dialect.yaml`; speeds of ports are in Mb/s, those of links in GT/s."""

    limits: tuple[Limits, ...]
    libraries: dict[Library, Format]
    attributes: dict[str, tuple[str, ...]]
    required: dict[str, tuple[str, ...]]
    attributes_since: dict[str, dict[str, VersionText]]
    pinned: dict[str, tuple[str, ...]]
    link_speeds: dict[str, float]
    link_widths: tuple[int, ...]
    cpu_archs: tuple[str, ...]
    cpu_vendors: tuple[str, ...]
    port_speeds: tuple[int, ...]

    def link_speed(self, text: str) -> float:
        """GT/s that NCCL makes of a `link_speed`."""
        return next((speed for known, speed in self.link_speeds.items() if text.startswith(known)), 8.0)


@cache
def dialect_table() -> DialectTable:
    """The table of this checkout."""
    return DialectTable.model_validate(read_table(Path(__file__).with_name("dialect.yaml")))


def library_for(shape: Shape | None) -> Library:
    """The library that drives a shape's GPUs; NCCL where no shape is named."""
    rows = dialect_table().libraries
    return next((name for name, row in rows.items() if shape and row.gpu_vendor == shape.gpus.vendor), Library.NCCL)


@dataclass(frozen=True)
class Dialect:
    """What a file is judged by.

    `version` is None where the file is to serve any release: it is then read as the newest one does (`reads`), and must
    keep to what all of them hold (`holds`). With a version, both are its own.
    """

    library: Library
    version: Version | None
    reads: Limits
    holds: Limits
    format: Format

    @property
    def name(self) -> str:
        """The library as people write it."""
        return self.library.upper()

    def children_of(self, element: str) -> tuple[str, ...]:
        """Names of the elements that the reader takes below another."""
        return self.format.children.get(element, ())

    def attributes_of(self, element: str) -> tuple[str, ...]:
        """Names of the attributes that the library reads of an element."""
        return (*dialect_table().attributes.get(element, ()), *self.format.own_attributes.get(element, ()))


@cache
def dialect(library: Library = Library.NCCL, version: str | None = None) -> Dialect:
    """The dialect of a release, or what all releases share.

    Raises:
        ValueError: the version is none of NCCL's, which begin with 2.
    """
    table = dialect_table()
    if version is None:
        return Dialect(library, None, table.limits[-1], _shared(table.limits), table.libraries[library])
    found = Version.parse(version)
    if found.release[0] != 2:
        raise ValueError(f"{version!r} is no version of NCCL; write 2.MINOR.PATCH, such as 2.27.3")
    limits = next(row for row in reversed(table.limits) if found.has_reached(row.since))
    return Dialect(library, found, limits, limits, table.libraries[library])


def attributes_since(element: str) -> Mapping[str, Version]:
    """Attributes of an element that not every release knows, with the release that brought them."""
    return dialect_table().attributes_since.get(element, {})


def _shared(rows: tuple[Limits, ...]) -> Limits:
    return Limits(
        since=rows[0].since,
        nodes=min(row.nodes for row in rows),
        children=min(row.children for row in rows),
        links=min(row.links for row in rows),
        matching_quotes=all(row.matching_quotes for row in rows),
    )
