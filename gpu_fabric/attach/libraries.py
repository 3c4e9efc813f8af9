"""Which libraries other than NCCL a workload uses, and the variables that it gets for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from gpu_fabric.attach.place import Place, Said
from gpu_fabric.base.tables import read_rows
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import finding
from gpu_fabric.model import FrozenModel

_LIBRARIES = Path(__file__).with_name("libraries.yaml")

NONE = "none"
"""The option by which a workload gets the settings of no library other than NCCL."""


class UsedLibrary(FrozenModel):
    """One row; the comment at the top of `libraries.yaml` explains the fields."""

    name: str
    uses: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Recognised(NamedTuple):
    """A library that a container uses, and by what it was recognised."""

    library: str
    sign: str


def used_libraries() -> tuple[UsedLibrary, ...]:
    """The libraries other than NCCL, with how their users are recognised."""
    return read_rows(_LIBRARIES, UsedLibrary)


def with_used(names: Iterable[str]) -> tuple[str, ...]:
    """The libraries and those over which they send, in the order of the table."""
    uses = {row.name: row.uses for row in used_libraries()}
    wanted, found = list(names), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += uses.get(name, ())
    return tuple(name for name in uses if name in found)


def refuse_unknown_libraries(names: Iterable[str], said: Said) -> None:
    """Record names behind --library that are of no library."""
    known = [*(row.name for row in used_libraries()), NONE]
    for name in names:
        if name not in known:
            said.append(finding("ATT037", "", f"no library is called {name!r}", f"write one of: {', '.join(known)}"))


def recognised_libraries(kind: str, container: Place) -> list[Recognised]:
    """The libraries that a container uses, by the kind of its workload, its image, variables and words."""
    found = ((library, next(_signs(library, kind, container), None)) for library in used_libraries())
    return [Recognised(library.name, sign) for library, sign in found if sign is not None]


def library_environment(contract: FabricContract, names: Sequence[str]) -> dict[str, str]:
    """The variables of libraries, and of those over which they send; what the contract sets for all jobs stays."""
    used = with_used(name for name in names if name != NONE)
    own = (pair for name in used for pair in contract.libraries.get(name, {}).items())
    return {variable: value for variable, value in own if variable not in contract.environment}


def _signs(known: UsedLibrary, kind: str, container: Place) -> Iterator[str]:
    """Why a container is taken to use a library, in words; the first one is enough."""
    image = str(container.content.get("image") or "").lower()
    if kind in known.kinds:
        yield f"kind {kind}"
    if any(fnmatchcase(image, pattern) for pattern in known.images):
        yield f"image {container.content['image']}"
    environment = [(str(entry.content.get("name")), entry.content.get("value")) for entry in container.entries("env")]
    yield from (f"variable {name}" for name, _ in environment if name.startswith(known.variables or ("\0",)))
    words = [word for key in ("command", "args") for word in container.values(key)]
    text = " ".join(map(str, [*words, *(f"{name}={value}" for name, value in environment)])).lower()
    yield from (pattern.strip("*") for pattern in known.words if fnmatchcase(text, pattern.lower()))
