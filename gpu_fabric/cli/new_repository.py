"""`gpu-fabric init --repository`: the repository of a team, which has stack files and uses the package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import gpu_fabric
from gpu_fabric.cli.conversation import refuse

# In the wheel, and in a checkout.
_PLACES = ("templates/repository", "../templates/repository")
REQUIREMENTS, WHEELS = "requirements.txt", "wheels"
# With the extras by which each is used; the policies only where they are installed.
_PACKAGES = {"gpu-fabric": "[pulumi]", "gpu-fabric-policy": ""}


class _Requirement(NamedTuple):
    """A line of requirements.txt, the wheel that it names in the repository, and what the user must know of it."""

    line: str
    wheel: Path | None = None
    remark: str = ""


class Repository(NamedTuple):
    """The files of a repository, with their contents, and what is said once they are written."""

    files: dict[Path, bytes]
    says: tuple[str, ...]


def repository_of(folder: Path, stack: str | None) -> Repository:
    """The files of the template and the requirements; refuses a folder that has one of them. Nothing is written.

    A folder that has the file of `stack` is not refused: what becomes of that is asked with its answers.
    """
    source = template()
    found = (path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    places = {folder / path.relative_to(source): path for path in found}
    if there := [place for place in places if place.name != f"Pulumi.{stack}.yaml" and os.path.lexists(place)]:
        refuse(f"{there[0]} exists: name an empty folder, or a repository without such files")
    needed = (_requirement(name, extras, folder) for name, extras in _PACKAGES.items())
    requirements = [entry for entry in needed if entry is not None]
    try:
        # The content alone: in a checkout some are links.
        files = {place: path.read_bytes() for place, path in places.items()}
        files |= {folder / WHEELS / wheel.name: wheel.read_bytes() for wheel in _wheels(requirements)}
    except OSError as error:
        refuse(f"{error.filename} cannot be read: {error.strerror}")
    files[folder / REQUIREMENTS] = "".join(f"{entry.line}\n" for entry in requirements).encode()
    says = (
        *(entry.remark for entry in requirements if entry.remark),
        f"{folder}: a repository of {len(places)} files, which uses {requirements[0].line}",
        "Its README.md says what comes next; further stacks are written in it, by gpu-fabric init NAME.",
    )
    return Repository(files, says)


def _wheels(requirements: Iterable[_Requirement]) -> list[Path]:
    return [entry.wheel for entry in requirements if entry.wheel is not None]


def template() -> Path:
    """The folder of the files."""
    package = Path(gpu_fabric.__file__).parent
    return next(found for place in _PLACES if (found := (package / place).resolve()).is_dir())


def _requirement(name: str, extras: str, folder: Path) -> _Requirement | None:
    """How pip gets what is installed here; None where it is not installed.

    An index is asked only where this installation came from one: elsewhere the name may be a stranger's.
    """
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        # Run from a checkout's folder, with nothing installed.
        return _of_checkout(name, extras, folder) if name == "gpu-fabric" else None
    origin = _origin(installed)
    if origin is None:
        return _Requirement(f"{name}{extras}=={installed.version}")
    url = str(origin["url"])
    if not url.startswith("file:"):
        repository = origin.get("vcs_info")
        exact = f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
        return _Requirement(f"{name}{extras} @ {exact}")
    path = Path(unquote(urlsplit(url).path))
    if path.suffix == ".whl":
        if not path.is_file():
            refuse(f"the wheel of {name} is not at {path} any more, from which it was installed: put it back there")
        return _Requirement(f"./{WHEELS}/{path.name}{extras}", path)
    return _of_checkout(name, extras, folder, path)


def _origin(installed: Distribution) -> dict[str, Any] | None:
    """Where it was installed from, as installers record it (PEP 610); None is an index."""
    text = installed.read_text("direct_url.json")
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found


def _of_checkout(name: str, extras: str, folder: Path, checkout: Path | None = None) -> _Requirement:
    """The path of a checkout, which only this machine has."""
    path = os.path.relpath(checkout or Path(gpu_fabric.__file__).parents[1], folder.resolve())
    remark = (
        f"{name} is used from a checkout, which the workflows do not have: build its wheel (docs/releasing.md),\n"
        f"put it into {WHEELS}/, and name it in {REQUIREMENTS}"
    )
    return _Requirement(f"{path}{extras}", remark=remark)
