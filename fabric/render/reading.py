"""Reading a rendered plan back from its folder."""

from __future__ import annotations

from pathlib import Path

import yaml

from fabric.progress import UNHEARD, Progress
from fabric.render.layout import WRITTEN_BY, plan_of
from fabric.render.model import VERSION, RenderedPlan
from fabric.render.places import INDEX
from fabric.render.refused import REFUSED
from fabric.render.text import json_value


class RenderedPlanError(Exception):
    """A folder holds no rendered plan that can be read; the text names the folder and says why."""


def read_rendered(folder: Path, progress: Progress = UNHEARD) -> RenderedPlan:
    """The rendered plan of a folder.

    Raises:
        RenderedPlanError: there is none, it is of another version of the layout, or its files are not as written.
    """
    try:
        index = json_value((folder / INDEX).read_text(encoding="utf-8"))
    except OSError as error:
        raise RenderedPlanError(f"{folder}: no rendered plan: {INDEX}: {error.strerror}") from None
    except (ValueError, RecursionError):
        index = None
    if not isinstance(index, dict) or index.get("writtenBy") != WRITTEN_BY:
        raise RenderedPlanError(f"{folder}: no rendered plan: its {INDEX} is not one of `{WRITTEN_BY}`")
    if index.get("schemaVersion") != VERSION:
        raise RenderedPlanError(
            f"{folder}: a rendered plan of layout {index.get('schemaVersion')}, and this version reads {VERSION}: "
            "render both plans anew by one version"
        )
    if REFUSED in index:
        raise RenderedPlanError(f"{folder}: no rendered plan: its stack was refused; {INDEX} says why")
    try:
        paths = [INDEX, *index["files"]]
        if outside := [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]:
            raise ValueError(f"{outside[0]} is not in the folder")
        files = progress.each(f"reading {folder},", paths, "files")
        return plan_of({path: (folder / path).read_bytes().decode() for path in files})
    except OSError as error:
        missing = Path(str(error.filename)).relative_to(folder)
        raise RenderedPlanError(f"{folder}: no whole rendered plan: {missing}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, yaml.YAMLError) as error:
        first = " ".join(str(error).split())[:200]
        raise RenderedPlanError(f"{folder}: not as a rendered plan is written: {first}") from None
