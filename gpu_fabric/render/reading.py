"""Read a rendered plan back from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.progress import UNHEARD, Progress
from gpu_fabric.render.layout import REFUSED, WRITTEN_BY, plan_of
from gpu_fabric.render.model import VERSION, RefusedPlan, RenderedPlan
from gpu_fabric.render.places import INDEX
from gpu_fabric.render.text import json_value


class RenderedPlanError(Exception):
    """A folder does not contain a readable rendered plan; the message names the folder and the reason."""


def read_rendered(folder: Path, progress: Progress = UNHEARD) -> RenderedPlan:
    """The rendered plan of a folder.

    Raises:
        RenderedPlanError: the plan is missing, has another layout version, or its files are not in the written form.
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
            "render both plans again with one version"
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
        document: Any = json_value((folder / INDEX).read_text(encoding="utf-8"))
        return document if document["writtenBy"] == WRITTEN_BY else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
