"""What of an image's files matters on a fabric: libibverbs with its providers, NCCL or RCCL, programs of MPI jobs.

Sources: libibverbs/dynamic_driver.c and libibverbs/init.c of rdma-core v64.0 for how providers are found and compared
with the kernel; the version strings are in NCCL's and RCCL's src/init.cc ("so that running strings on the lib can
quickly reveal the version").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Literal

from gpu_fabric.image.layers import Image, ImageFile, Wanted
from gpu_fabric.model import FrozenModel

_LIBRARY = re.compile(r"(?:^|/)lib(nccl|rccl)\.so(?:\.[0-9.]+)?$")
_VERBS = re.compile(r"(?:^|/)libibverbs\.so\.1(?:\.[0-9a-z.]+)?$")
_PLUGIN = re.compile(r"(?:^|/)lib([a-z0-9_]+)-rdmav([0-9]+)\.so$")
_SHARED = re.compile(r"(?:^|/)lib([a-z0-9_]+)\.so\.[0-9][0-9a-z.]*$")
_DRIVER = re.compile(r"(?:^|/)etc/libibverbs\.d/[^/]+$")
_PROGRAM = re.compile(r"(?:^|/)s?bin/(ssh|sshd|mpirun|ucx_perftest)$|(?:^|/)(all_reduce_perf)(?:_mpi)?$")

_VERSION = re.compile(rb"[NR]CCL version (?:: )?([0-9]+\.[0-9]+\.[0-9]+)")
_SUFFIX = re.compile(rb"-rdmav([0-9]+)\.so")
_MOST_OF_A_LIBRARY = 8 << 20
_MOST_OF_A_DRIVER_FILE = 1 << 16
_X86_64_RELATIVE, _AARCH64_RELATIVE = 8, 1027


class CollectiveLibrary(FrozenModel):
    """An NCCL or RCCL of the image; `version` is null where the library does not say it."""

    library: Literal["nccl", "rccl"]
    version: str | None
    path: str


class Provider(FrozenModel):
    """A provider of libibverbs in the image.

    `named` is whether a file in etc/libibverbs.d names it, without which it is not loaded. `interface` is the number
    of libibverbs' own interface in the plug-in's name. `abi` are the lowest and the highest version of the kernel's
    interface that it takes; null where the file does not show it.
    """

    name: str
    path: str
    named: bool
    interface: int
    abi: tuple[int, int] | None


class ImageSoftware(FrozenModel):
    """What an image has. `interface` is the number of libibverbs' plug-ins that its libibverbs loads."""

    names: tuple[str, ...]
    architecture: str
    libibverbs: str | None
    interface: int | None
    providers: tuple[Provider, ...]
    libraries: tuple[CollectiveLibrary, ...]
    programs: dict[str, str]


class Chooser:
    """What is wanted of an image's files, with the names of the providers that are looked for."""

    def __init__(self, providers: Iterable[str]) -> None:
        self._providers = frozenset(providers)

    def __call__(self, path: str) -> Wanted | None:
        """As `layers.Chooser`."""
        if _VERBS.search(path) or ((found := _PLUGIN.search(path) or _SHARED.search(path)) and self._has(found[1])):
            return Wanted(_MOST_OF_A_LIBRARY)
        if _LIBRARY.search(path):
            return Wanted(pattern=_VERSION)
        if _DRIVER.search(path):
            return Wanted(_MOST_OF_A_DRIVER_FILE)
        return Wanted() if _PROGRAM.search(path) else None

    def _has(self, name: str) -> bool:
        return name in self._providers


def software_of(image: Image) -> ImageSoftware:
    """What an image has, by its files."""
    verbs = next((file for path, file in image.files.items() if _VERBS.search(path) and file.target is None), None)
    suffix = None if verbs is None else _SUFFIX.search(verbs.content)
    programs = {
        found[1] or found[2]: path for path in sorted(image.files, reverse=True) if (found := _PROGRAM.search(path))
    }
    return ImageSoftware(
        names=image.names,
        architecture=image.architecture,
        libibverbs=None if verbs is None else verbs.path,
        interface=None if suffix is None else int(suffix[1]),
        providers=tuple(_providers(image)),
        libraries=tuple(_libraries(image.files)),
        programs=dict(sorted(programs.items())),
    )


def _libraries(files: dict[str, ImageFile]) -> Iterator[CollectiveLibrary]:
    """Each library once: not its links, nor the copies that hard links make of it."""
    for path, file in sorted(files.items()):
        if (found := _LIBRARY.search(path)) and file.target is None:
            name: Literal["nccl", "rccl"] = "nccl" if found[1] == "nccl" else "rccl"
            yield CollectiveLibrary(library=name, version=file.content.decode() or None, path=path)


def _providers(image: Image) -> Iterator[Provider]:
    named = _named_drivers(image.files)
    for path in sorted(image.files):
        if (found := _PLUGIN.search(path)) and (file := image.followed(path)) is not None:
            # A driver is named alone, or by the path of its library up to the suffix.
            whole = f"/{path.removesuffix(f'-rdmav{found[2]}.so')}"
            yield Provider(
                name=found[1],
                path=path,
                named=bool(named & {found[1], whole}),
                interface=int(found[2]),
                abi=abi_range(file.content, found[1]),
            )


def _named_drivers(files: dict[str, ImageFile]) -> set[str]:
    texts = [file.content.decode("utf-8", "replace") for path, file in files.items() if _DRIVER.search(path)]
    words = [line.split() for text in texts for line in text.splitlines()]
    return {line[1] for line in words if len(line) > 1 and line[0] == "driver"}


def abi_range(library: bytes, name: str) -> tuple[int, int] | None:
    """The lowest and the highest version of the kernel's interface that a provider's library takes.

    It is in the library's struct verbs_device_ops (libibverbs/driver.h): a pointer to the provider's name, and behind
    it both numbers. The pointer is found by the relocation that fills it, or, with packed relocations, by its value.
    None for another format than ELF of 64 bits and little-endian, or where no such place, or more than one, is found.
    """
    try:
        return _abi_range(library, name)
    except struct.error:
        return None


def _abi_range(library: bytes, name: str) -> tuple[int, int] | None:
    if library[:6] != b"\x7fELF\x02\x01":
        return None
    start = struct.unpack_from("<Q", library, 32)[0]
    size, count = struct.unpack_from("<HH", library, 54)
    headers = [struct.unpack_from("<IIQQQQ", library, start + number * size) for number in range(count)]
    loaded = [(offset, address, length) for kind, _, offset, address, _, length in headers if kind == 1]

    def moved(value: int, *, to_file: bool) -> int | None:
        for offset, address, length in loaded:
            here, there = (address, offset) if to_file else (offset, address)
            if here <= value < here + length:
                return int(value - here + there)
        return None

    wanted = name.encode() + b"\0"
    addresses = {moved(found.start(), to_file=False) for found in re.finditer(re.escape(wanted), library)} - {None}
    places = {place for address in addresses for place in _places(library, address)}
    for kind, _, offset, _, _, length in headers:
        if kind == 2:
            tags = dict(struct.iter_unpack("<QQ", library[offset : offset + length // 16 * 16]))
            first = moved(tags.get(7, 0), to_file=True) or 0
            table = library[first : first + tags.get(8, 0) // 24 * 24]
            # In the table itself an address is not a pointer.
            places -= set(range(first, first + len(table)))
            for where, info, addend in struct.iter_unpack("<QQQ", table):
                if info in (_X86_64_RELATIVE, _AARCH64_RELATIVE) and addend in addresses:
                    places.add(moved(where, to_file=True) or 0)
    pairs = {struct.unpack_from("<ii", library, place + 8) for place in places}
    # The same address elsewhere is followed by something else: another pointer, of which the upper half is 0.
    ranges = {(int(lowest), int(highest)) for lowest, highest in pairs if 0 <= lowest <= highest}
    return ranges.pop() if len(ranges) == 1 else None


def _places(library: bytes, address: int | None) -> Iterator[int]:
    """Where an address is written in a library as a pointer, which is aligned."""
    found = re.finditer(re.escape(struct.pack("<Q", address or 0)), library)
    return (each.start() for each in found if each.start() % 8 == 0)
