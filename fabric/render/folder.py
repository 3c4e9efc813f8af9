"""Writing the folder: whole or not at all, and never over what somebody else has put there."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabric.progress import UNHEARD, Progress
from fabric.render.layout import WRITTEN_BY
from fabric.render.places import INDEX

# Of many strange files the first say what is wrong.
_TOLD = 5


class FolderError(Exception):
    """The folder cannot be written; the text says why, and that nothing was changed."""


def write_files(folder: Path, files: Mapping[str, str], progress: Progress = UNHEARD) -> None:
    """Make the folder hold just these files, in the place of those of an earlier rendered plan.

    They are written beside it first and take its place at once, so that an interrupted run leaves one or the other.

    Raises:
        FolderError: something else is there, or the file system refuses.
    """
    # A link stays one.
    target = folder.resolve()
    _refuse_strangers(folder, target)
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


def _refuse_strangers(folder: Path, target: Path) -> None:
    """Raises FolderError where the folder holds a file that no rendered plan of ours has put there."""
    if not target.exists():
        return
    if not target.is_dir():
        raise FolderError(f"{folder}: is a file, and a folder is needed; nothing was written")
    written = _written(target / INDEX)
    # Of a folder that is not ours nobody needs to know all that lies below it.
    found = target.rglob("*") if written else target.iterdir()
    strangers = sorted(
        {path.relative_to(target).as_posix() for path in found if not written or path.is_symlink() or path.is_file()}
        - written
    )
    if strangers:
        more = f" and {len(strangers) - _TOLD} more" if len(strangers) > _TOLD else ""
        raise FolderError(
            f"{folder}: holds what no rendered plan has put there: {', '.join(strangers[:_TOLD])}{more}; nothing was "
            "written. Name another folder, or move those files"
        )


def _written(index: Path) -> frozenset[str]:
    """An index with the files that it names; none where it is not one of ours."""
    try:
        document = json.loads(index.read_text(encoding="utf-8"))
        return frozenset({INDEX, *document["files"]} if document["writtenBy"] == WRITTEN_BY else ())
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return frozenset()
