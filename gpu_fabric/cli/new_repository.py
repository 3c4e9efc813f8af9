"""`gpu-fabric init --repository`: the repository of a team, which has stack files and uses the package."""

from __future__ import annotations

import json
import os
import shutil
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import gpu_fabric
from gpu_fabric.cli.conversation import refuse, say

# In the wheel, and in a checkout.
_PLACES = ("templates/repository", "../templates/repository")
REQUIREMENTS, WHEELS = "requirements.txt", "wheels"
# With the extras by which each is used; the policies only where they are installed.
_PACKAGES = {"gpu-fabric": "[pulumi]", "gpu-fabric-policy": ""}


class _Requirement(NamedTuple):
    """A line of requirements.txt, and the wheel that it names in the repository."""

    line: str
    wheel: Path | None = None


def write_repository(folder: Path, stack: str | None) -> None:
    """Write the files of the template and the requirements; refuses a folder that has one of them.

    The file of `stack` is left out: its answers are still to come.
    """
    source, later = template(), f"Pulumi.{stack}.yaml"
    found = (path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    files = [path for path in found if path.name != later]
    if there := [name for path in files if (folder / (name := path.relative_to(source))).exists()]:
        refuse(f"{folder / there[0]} exists: name an empty folder, or a repository without such files")
    needed = (_requirement(name, extras, folder) for name, extras in _PACKAGES.items())
    requirements = [entry for entry in needed if entry is not None]
    try:
        for path in files:
            place = folder / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            # The content alone: in a checkout some are links.
            place.write_bytes(path.read_bytes())
        (folder / REQUIREMENTS).write_text("".join(f"{entry.line}\n" for entry in requirements), encoding="utf-8")
        for wheel in (entry.wheel for entry in requirements if entry.wheel is not None):
            (folder / WHEELS).mkdir(exist_ok=True)
            shutil.copy(wheel, folder / WHEELS)
    except OSError as error:
        refuse(f"{error.filename or folder} cannot be written: {error.strerror}")
    say(f"{folder}: a repository of {len(files)} files, which uses {requirements[0].line}")
    say("Its README.md says what comes next; further stacks are written in it, by gpu-fabric init NAME.")


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
    say(f"{name} is used from a checkout, which the workflows do not have: build its wheel (docs/releasing.md), put it")
    say(f"into {WHEELS}/, and name it in {REQUIREMENTS}")
    return _Requirement(f"{path}{extras}")
