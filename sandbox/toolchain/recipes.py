"""What can be built, read from binaries.yaml, and the key under which a build is cached."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gpu_fabric.base.tables import read_table
from ..failure import SandboxError

FOLDER = Path(__file__).resolve().parent

# One set of build tags for all: a package that another set gives other files is another one to Go's cache. Without
# gRPC's traces the linker can leave out methods that nothing calls; without gRPC in Google's storage client its Envoy
# protocols are not compiled (both as the libraries document).
_TAGS = ("osusergo", "grpcnotrace", "disable_grpc_modules")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Copy(_Record):
    """A file out of a Go module that the go.mod in ``folder`` requires, or a folder of files, which gets a name.

    A module that a folder replaces has its version behind an @.
    """

    folder: str
    module: str
    path: str
    name: str | None = None


class Completed(_Record):
    """A folder of the Go module that replaces another module, and is built together with the files of ``version``.

    The folder's packages that `own` names are built without them.
    """

    folder: str
    module: str
    version: str
    own: tuple[str, ...] = ()


class Probe(_Record):
    """How to ask a program for its version, the lowest that will do, and whether one on PATH will do."""

    arguments: tuple[str, ...]
    at_least: str
    on_path: bool = False


class Instead(Probe):
    """A program on PATH that replaces a build, when its companion programs are in the same folder."""

    command: str
    beside: tuple[str, ...] = ()


class Plugin(_Record):
    """Name and version under which the engine looks for a resource plug-in."""

    name: str
    version: str


class Recipe(_Record):
    """How one binary (or one folder of them) is built; the fields are explained in binaries.yaml."""

    name: str
    group: str
    module: str
    package: str
    link: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    outputs: tuple[str, ...]
    copies: tuple[Copy, ...] = ()
    completed: tuple[Completed, ...] = ()
    texts: dict[str, str] = {}
    instead: Instead | None = None
    replaced_with: str | None = Field(default=None, alias="with")
    roles: dict[str, Probe] = {}
    plugin: Plugin | None = None
    minutes: int

    @property
    def folder(self) -> Path:
        return FOLDER / self.module

    def place(self, completed: Completed) -> Path:
        """The folder that replaces a module, which can be that of another binary."""
        return Path(os.path.normpath(self.folder / completed.folder))

    def arguments(self, destination: Path, graph: Path) -> list[str]:
        """The arguments of `go` that put the outputs into the destination folder, and the times into ``graph``."""
        flags = ["-trimpath", "-mod=readonly", "-buildvcs=false", "-v", f"-debug-actiongraph={graph}"]
        flags += self._tagged
        # the linker leaves debug information out (-s -w), so the compiler need not write it
        flags += ["-gcflags=all=-dwarf=false", "-ldflags", " ".join(["-s", "-w", *self.link])]
        # a folder as target (trailing slash) takes several packages; a file gives the one its name
        target = f"{destination}/" if self.package == "tool" else str(destination / self.outputs[0])
        return ["build", *flags, "-o", target, self.package]

    def listing(self) -> list[str]:
        """The arguments of `go` that list every package of the build, for which Go downloads their modules."""
        return ["-C", str(self.folder), "list", "-deps", "-e", "-mod=readonly", *self._tagged, self.package]

    @property
    def _tagged(self) -> list[str]:
        return ["-tags", ",".join((*_TAGS, *self.tags))]

    def cache_key(self, go_minor: str) -> str:
        """SHA-256 over the module's files, how they are built and Go's major.minor: what the outputs depend on."""
        how = [*self.arguments(Path("out"), Path("graph")), *self.outputs, *map(str, self.copies)]
        how += map(str, self.completed)
        how += [str(self.texts)] if self.texts else []
        digest = hashlib.sha256("\n".join([go_minor, *how]).encode())
        others = {*(FOLDER / copy.folder for copy in self.copies), *map(self.place, self.completed)}
        folders = sorted({self.folder, *(folder for folder in others if not folder.is_relative_to(self.folder))})
        for folder in folders:
            for file in sorted(path for path in folder.rglob("*") if path.is_file()):
                digest.update(f"{file.relative_to(FOLDER)}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by name, in the order in which they are built."""
    data: dict[str, dict[str, Any]] = read_table(FOLDER / "binaries.yaml")
    return {name: Recipe(**{"name": name, "module": name, **fields}) for name, fields in data.items()}


def choose(names: list[str] | None) -> list[Recipe]:
    """The recipes of the named binaries or groups; those of the core group when none is named.

    Raises SandboxError (status 2) for a name that is neither.
    """
    known = recipes()
    groups = sorted({recipe.group for recipe in known.values()})
    wanted: dict[str, Recipe] = {}
    for name in names or ["core"]:
        found = [recipe for recipe in known.values() if name in (recipe.name, recipe.group, "all")]
        if not found:
            raise SandboxError(
                f"there is no binary or group called {name!r}",
                f"Binaries: {', '.join(known)}. Groups: {', '.join(groups)}, all.",
                status=2,
            )
        wanted.update((recipe.name, recipe) for recipe in found)
    return list(wanted.values())


def version_tuple(text: str) -> tuple[int, ...]:
    """The first dotted number in a text ("go1.26.8" -> (1, 26, 8)); empty when there is none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def go_needed() -> tuple[int, ...]:
    """The lowest Go that builds every module: the highest `go` line of their go.mod files, as (major, minor)."""
    lines = [
        version_tuple(line)
        for module in FOLDER.glob("*/go.mod")
        for line in module.read_text().splitlines()
        if line.startswith("go ")
    ]
    return max(lines)[:2]


def user_cache() -> Path:
    """The folder that outlives clones: ``$XDG_CACHE_HOME/gpu-fabric``, by default ``~/.cache/gpu-fabric``."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path(home_folder()) / ".cache") / "gpu-fabric"


def home_folder() -> str:
    """The user's folder: ``$HOME``, or where that is unset or empty (which would be the root of the file system) the
    one in the system's list of users."""
    return os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
