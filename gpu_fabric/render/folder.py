"""Read a rendered plan from its folder, and write one atomically, never over files that this program did not write."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.base.enumeration import first_names
from gpu_fabric.base.user_files import file_content
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.layout import REFUSED, TOOL, WRITTEN_BY, plan_of
from gpu_fabric.render.model import VERSION, RefusedPlan, RenderedPlan
from gpu_fabric.render.places import INDEX


class RenderedPlanError(Exception):
    """A folder does not contain a readable rendered plan; the message names the folder and the reason."""


def read_rendered(folder: Path, progress: Progress = NO_PROGRESS) -> RenderedPlan:
    """The rendered plan of a folder.

    Raises:
        RenderedPlanError: the plan is missing, has another layout version, or its files are not in the written form.
    """
    try:
        index = json.loads(file_content(folder / INDEX))
    except OSError as error:
        raise RenderedPlanError(f"{folder}: no rendered plan: {INDEX}: {error.strerror}") from None
    except (ValueError, RecursionError):
        index = None
    if not isinstance(index, dict) or index.get("writtenBy") != WRITTEN_BY:
        raise RenderedPlanError(f"{folder}: no rendered plan: its {INDEX} is not one of `{WRITTEN_BY}`")
    if index.get("schemaVersion") != VERSION:
        raise RenderedPlanError(
            f"{folder}: a rendered plan of layout {index.get('schemaVersion')}, and this version reads {VERSION}: "
            "render both plans again with one version"
        )
    if REFUSED in index:
        raise RenderedPlanError(f"{folder}: no rendered plan: its stack was refused; {INDEX} says why")
    if TOOL in index:
        raise RenderedPlanError(f"{folder}: no rendered plan: written with --as {index[TOOL]}; write it without --as")
    try:
        paths = [INDEX, *index["files"]]
        if outside := [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]:
            raise ValueError(f"{outside[0]} is not in the folder")
        files = progress.each(f"reading {folder},", paths, "files")
        return plan_of({path: file_content(folder / path).decode() for path in files})
    except OSError as error:
        missing = Path(str(error.filename)).relative_to(folder)
        raise RenderedPlanError(f"{folder}: no whole rendered plan: {missing}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, yaml.YAMLError) as error:
        first = " ".join(str(error).split())[:200]
        raise RenderedPlanError(f"{folder}: not as a rendered plan is written: {first}") from None


def has_stacks_index(folder: Path) -> bool:
    """Whether a folder has an index of this program, of any layout version."""
    return bool(own_index(folder))


def read_refused(folder: Path) -> RefusedPlan | None:
    """The reasons in the folder of a refused stack; None for any other folder."""
    try:
        return RefusedPlan.model_validate(own_index(folder)[REFUSED])
    except (KeyError, ValueError, RecursionError):
        return None


def own_index(folder: Path) -> dict[str, Any]:
    """The index of a folder that this program wrote; empty for any other folder."""
    try:
        document: Any = json.loads(file_content(folder / INDEX))
        return document if document["writtenBy"] == WRITTEN_BY else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


# The most foreign files that a message lists.
_MOST_LISTED = 5


class FolderError(Exception):
    """The folder cannot be written; the message gives the reason, and nothing was changed."""


def write_files(folder: Path, files: Mapping[str, str], progress: Progress = NO_PROGRESS) -> None:
    """Write exactly these files to the folder, replacing those of an earlier rendered plan.

    They are written to a temporary folder next to it, which is then renamed: an interrupted run leaves the old or the
    new files.

    Raises:
        FolderError: the folder contains other files, or the file system reports an error.
    """
    # A symbolic link stays a link.
    target = folder.resolve()
    _refuse_foreign_files(folder, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
            new, old = Path(beside) / "new", Path(beside) / "old"
            for path, text in progress.each("writing", files.items(), "files"):
                file = new / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            _swap(target, new, old)
    except OSError as error:
        raise FolderError(f"{folder}: {error.strerror or error}; nothing was written") from None


def _swap(target: Path, new: Path, old: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    shutil.copymode(target, new)
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise


def _refuse_foreign_files(folder: Path, target: Path) -> None:
    """Raises FolderError if the folder contains a file that no rendered plan wrote."""
    if not target.exists():
        return
    if not target.is_dir():
        raise FolderError(f"{folder}: is a file, and a folder is needed; nothing was written")
    written = _written(target)
    # A folder that is not a rendered plan may be large: only its top level is read.
    found = target.rglob("*") if written else target.iterdir()
    foreign = sorted(
        {path.relative_to(target).as_posix() for path in found if not written or path.is_symlink() or path.is_file()}
        - written
    )
    if foreign:
        raise FolderError(
            f"{folder}: holds what no rendered plan has put there: {first_names(foreign, _MOST_LISTED)}; "
            "nothing was written. Name another folder, or move those files"
        )


def _written(folder: Path) -> frozenset[str]:
    """The index of a folder and the files that it names; empty if this program did not write it."""
    try:
        return frozenset({INDEX, *index["files"]} if (index := own_index(folder)) else ())
    except (TypeError, KeyError):
        return frozenset()
