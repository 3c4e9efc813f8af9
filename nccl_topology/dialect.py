"""The dialect of topology files: what each release of NCCL and RCCL accepts, from `dialect.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class Library(StrEnum):
    """The library that reads the file; the two formats are not interchangeable."""

    NCCL = "nccl"
    RCCL = "rccl"


@dataclass(frozen=True)
class Limits:
    """The limits of the releases from `since` on; see `dialect.toml`."""

    since: str
    nodes: int
    children: int
    links: int
    matching_quotes: bool
    in_use: bool = True


@dataclass(frozen=True)
class Format:
    """A library's format: its GPU vendor and number, the children of each element, and attributes of its own."""

    gpu_vendor: str
    format_version: int
    children: dict[str, tuple[str, ...]]
    own_attributes: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class GpuParts:
    """The bits of a GPU's function number that must be 0 from a release on."""

    since: str
    mask: int


@dataclass(frozen=True)
class CpuModels:
    """The attributes of x86 CPUs by which a library distinguishes a vendor's models, from a release on."""

    vendors: tuple[str, ...]
    reads: tuple[str, ...]
    since: str | None = None
    families: tuple[int, ...] = ()


@dataclass(frozen=True)
class DialectTable:
    """`dialect.toml`; releases are texts, port speeds are in Mb/s, link speeds in GT/s."""

    newest: str
    limits: dict[Library, tuple[Limits, ...]]
    libraries: dict[Library, Format]
    attributes: dict[str, tuple[str, ...]]
    required: dict[str, tuple[str, ...]]
    required_since: dict[str, dict[str, str]]
    own_gpu_since: str
    added: dict[str, tuple[str, ...]]
    needed_unfilled: dict[str, tuple[str, ...]]
    elements_since: dict[str, str]
    attributes_since: dict[str, dict[str, str]]
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
    """The table of this package."""
    # Here, since most plans read no table.
    import tomllib

    rows = _tuples(tomllib.loads(Path(__file__).with_name("dialect.toml").read_text(encoding="utf-8")))
    rows["gpu_parts"] = GpuParts(**rows["gpu_parts"])
    rows["libraries"] = {Library(name): Format(**row) for name, row in rows["libraries"].items()}
    for key, record in (("limits", Limits), ("cpu_models", CpuModels)):
        rows[key] = {Library(name): tuple(record(**row) for row in of) for name, of in rows[key].items()}
    return DialectTable(**rows)


def _tuples(value: Any) -> Any:
    """A value of the file, with tuples in the place of lists."""
    if isinstance(value, dict):
        return {key: _tuples(entry) for key, entry in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def library_of(gpu_vendor: str | None) -> Library:
    """The library for a vendor's GPUs; NCCL if no vendor is named."""
    rows = dialect_table().libraries
    return next((name for name, row in rows.items() if row.gpu_vendor == gpu_vendor), Library.NCCL)


@dataclass(frozen=True)
class Dialect:
    """The library and release that a file is linted for.

    `version` is None for a file that must work with any release: it is read as the newest release reads it (`reads`),
    and must fit the limits of all of them (`holds`). With a version, both are the limits of that release.
    """

    library: Library
    version: str | None
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

    def reaches(self, since: str | None) -> bool:
        """Whether the file is for a release from `since` on; one for any release is."""
        return since is None or self.version is None or _release(self.version) >= _release(since)

    @property
    def is_known(self) -> bool:
        """Whether the release is not newer than the facts about releases here."""
        return self.version is None or _release(self.version) <= _release(dialect_table().newest)

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
    found = _release(version)
    if found[0] != 2:
        raise ValueError(f"{version!r} is not a version of NCCL; write 2.MINOR.PATCH, such as 2.27.3")
    limits = next(row for row in reversed(rows) if found >= _release(row.since))
    skipped = {name for name, since in table.elements_since.items() if found < _release(since)}
    children = {name: tuple(each for each in below if each not in skipped) for name, below in form.children.items()}
    return Dialect(library, ".".join(map(str, found if found[1:] else (*found, 0))), limits, limits, form, children)


@cache
def _release(version: str) -> tuple[int, ...]:
    """The numbers of a release, of `v2.27.3-1` 2, 27 and 3; a zero at the end does not count."""
    written = re.fullmatch(r"v?([0-9]+(?:\.[0-9]+)*)(?:[-+][0-9A-Za-z.+-]+)?", version.strip())
    if written is None:
        raise ValueError(f"{version!r} is not a valid version; write dotted numbers, such as 2.27.3")
    numbers = [*map(int, written[1].split("."))]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _lowest(rows: Sequence[Limits]) -> Limits:
    return Limits(
        since=rows[0].since,
        nodes=min(row.nodes for row in rows),
        children=min(row.children for row in rows),
        links=min(row.links for row in rows),
        matching_quotes=all(row.matching_quotes for row in rows),
    )
