"""Release archives in the place of builds: fetched with PREBUILT alone, and only with a digest.

PREBUILT=1 takes those of the vendors, whose digests are in prebuilt.yaml. PREBUILT=FILE takes those of a release of
this project as well, which `pack` has written with such a file.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import platform
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import IO

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.yaml_files import as_yaml
from ..failure import SandboxError
from .progress import Progress
from .recipes import FOLDER, Recipe, recipes, user_cache

VARIABLE = "PREBUILT"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_BLOCK = 1 << 20
_SILENCE_S = 60.0
_INSTEAD = f"leave {VARIABLE} out to build it from source"


class Archive(BaseModel):
    """What one vendor offers and what is taken out of it; the fields are explained in prebuilt.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    programs: tuple[str, ...]
    digests: dict[str, str]
    source: str
    recipe: str = ""


_RELEASE = TypeAdapter(dict[str, tuple[Archive, ...]])


@cache
def archives() -> dict[str, tuple[Archive, ...]]:
    """The archives that take the place of each binary, by its name."""
    data = read_table(FOLDER / "prebuilt.yaml")
    return {name: tuple(Archive(**archive) for archive in listed) for name, listed in data.items()}


def wanted() -> bool:
    """Whether archives may be fetched."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def _of_release(recipe: Recipe) -> tuple[Archive, ...]:
    """The archives of a binary in the file that PREBUILT names, if they were built by this recipe.

    Raises SandboxError (status 2) where the file cannot be read.
    """
    named = os.environ.get(VARIABLE, "")
    if named in ("", "0", "1"):
        return ()
    try:
        listed = _RELEASE.validate_python(yaml.safe_load(Path(named).read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        shown = f"{error.error_count()} entries are not as expected" if isinstance(error, ValidationError) else error
        raise SandboxError(
            f"{VARIABLE}={named} is not a list of a release's archives: {shown}",
            f"Write {VARIABLE}=1 for the vendors' releases, or the path of a release's prebuilt-MACHINE.yaml.",
            status=2,
        ) from error
    return tuple(archive for archive in listed.get(recipe.name, ()) if archive.recipe == recipe.cache_key(""))


def folder(name: str, progress: Progress) -> Path | None:
    """The folder with a binary's fetched programs; None when it is to be built.

    What was fetched once stays in use, so that the commands after it need no variable. Raises SandboxError for a
    download that fails or differs from its digest, and leaves nothing of it.
    """
    machine = _machine()
    if machine is None:
        return None
    places = user_cache() / "toolchain" / name
    of_release = places / f"prebuilt-{recipes()[name].cache_key('')[:16]}"
    if of_release.is_dir():
        return of_release
    if listed := [archive for archive in _of_release(recipes()[name]) if machine in archive.digests]:
        return _fetched(listed, machine, of_release, progress)
    listed = list(archives().get(name, ()))
    digests = [archive.digests.get(machine) for archive in listed]
    if not listed or not all(digests):
        return None
    key = hashlib.sha256(" ".join(map(str, digests)).encode()).hexdigest()
    place = places / f"prebuilt-{key[:16]}"
    if place.is_dir():
        return place
    return _fetched(listed, machine, place, progress) if wanted() else None


def _machine() -> str | None:
    """The machine's name in addresses of releases; None where none are offered for it."""
    return _MACHINES.get(platform.machine()) if platform.system() == "Linux" else None


def _fetched(listed: Iterable[Archive], machine: str, place: Path, progress: Progress) -> Path:
    """Fetch archives into a place, which has all of them afterwards, or does not exist."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as scratch:
        programs = Path(scratch, "programs")
        programs.mkdir()
        for archive in listed:
            _fetch(archive, machine, Path(scratch, "download"), programs, progress)
        if not place.exists():  # another run may have been faster
            programs.rename(place)
    return place


def pack(built: Iterable[tuple[Recipe, Path]], target: Path, url: str, source: str) -> Path:
    """Pack built binaries into an archive each, and return the file with their digests, for PREBUILT of others.

    `url` is that of the folder from which they will be downloaded. The same binaries give the same archives. Raises
    SandboxError on a machine for which no release is made.
    """
    if (machine := _machine()) is None:
        raise SandboxError("archives are made on Linux on amd64 or arm64 alone", status=2)
    target.mkdir(parents=True, exist_ok=True)
    rows = {}
    for recipe, place in built:
        file = target / f"{recipe.name}-linux-{machine}.tar.gz"
        with (
            file.open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for name in sorted(recipe.outputs):
                archive.add(place / name, name, filter=_without_owner)
        digest = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
        row = Archive(
            url=f"{url.rstrip('/')}/{file.name}",
            programs=recipe.outputs,
            digests={machine: digest},
            source=source,
            recipe=recipe.cache_key(""),
        )
        rows[recipe.name] = [row.model_dump(mode="json")]
    listed = target / f"prebuilt-{machine}.yaml"
    listed.write_text(as_yaml(rows), encoding="utf-8")
    return listed


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry of a file without its owner and time, which differ between machines."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755
    return entry


def _fetch(archive: Archive, machine: str, download: Path, programs: Path, progress: Progress) -> None:
    url = archive.url.format(machine=machine)
    with progress.download(url.rpartition("/")[2]) as show:
        _download(url, archive.digests[machine], download, show)
    missing = set(archive.programs)
    if url.endswith(".tar.gz"):
        with tarfile.open(download) as contents:
            for member in contents:
                name = Path(member.name).name
                program = contents.extractfile(member) if name in missing else None
                if program is not None:
                    _keep(program, programs / name)
                    missing.remove(name)
    else:
        with download.open("rb") as program:
            _keep(program, programs / missing.pop())
    if missing:
        raise SandboxError(f"{url} has no {' or '.join(sorted(missing))}", f"Report it, and {_INSTEAD}.")


def _download(url: str, digest: str, target: Path, show: Callable[[str], None]) -> None:
    algorithm, _, expected = digest.partition(":")
    found = hashlib.new(algorithm)
    size = 0
    try:
        # the address is the lock file's, and what it gives is checked
        with urllib.request.urlopen(url, timeout=_SILENCE_S) as answer, target.open("wb") as file:  # noqa: S310
            while block := answer.read(_BLOCK):
                found.update(block)
                file.write(block)
                size += len(block)
                show(f"{size / 1e6:.0f} MB")
    except (OSError, http.client.HTTPException) as error:
        raise SandboxError(
            f"{url} could not be downloaded: {error}",
            f"Check the network and HTTPS_PROXY, or {_INSTEAD}.",
        ) from error
    if found.hexdigest() != expected:
        raise SandboxError(
            f"{url} is not what was published: its {algorithm} is\n    {found.hexdigest()}\nand should be\n"
            f"    {expected}\nNothing of it was kept.",
            f"The download was cut short, or changed on its way: repeat it, or {_INSTEAD}.",
        )


def _keep(program: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(program, file)
    target.chmod(0o755)
