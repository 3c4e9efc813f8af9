"""Release archives of the vendors in the place of builds: fetched with PREBUILT=1 alone, and only with a digest in
prebuilt.yaml."""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict

from gpu_fabric.base.tables import read_table
from ..failure import SandboxError
from .progress import Progress
from .recipes import FOLDER, user_cache

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


@cache
def archives() -> dict[str, tuple[Archive, ...]]:
    """The archives that take the place of each binary, by its name."""
    data = read_table(FOLDER / "prebuilt.yaml")
    return {name: tuple(Archive(**archive) for archive in listed) for name, listed in data.items()}


def wanted() -> bool:
    """Whether archives may be fetched."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def folder(name: str, progress: Progress) -> Path | None:
    """The folder with a binary's fetched programs; None when it is to be built.

    What was fetched once stays in use, so that the commands after it need no variable. Raises SandboxError for a
    download that fails or differs from its digest, and leaves nothing of it.
    """
    machine = _MACHINES.get(platform.machine()) if platform.system() == "Linux" else None
    listed = archives().get(name, ())
    digests = [archive.digests.get(machine or "") for archive in listed]
    if not listed or not machine or not all(digests):
        return None
    key = hashlib.sha256(" ".join(map(str, digests)).encode()).hexdigest()
    place = user_cache() / "toolchain" / name / f"prebuilt-{key[:16]}"
    if place.is_dir():
        return place
    if not wanted():
        return None
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as scratch:
        programs = Path(scratch, "programs")
        programs.mkdir()
        for archive in listed:
            _fetch(archive, machine, Path(scratch, "download"), programs, progress)
        if not place.exists():  # another run may have been faster
            programs.rename(place)
    return place


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
