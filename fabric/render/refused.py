"""Folders beside the rendered plan's own: one with all stacks, and that of a stack which cannot be planned."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fabric.model import FrozenModel
from fabric.render.layout import WRITTEN_BY
from fabric.render.model import VERSION
from fabric.render.places import INDEX
from fabric.render.text import json_text, json_value
from fabric.rules import ConfigurationError, Finding

# The key of the index that no rendered plan has.
REFUSED = "refused"


class RefusedPlan(FrozenModel):
    """Why a stack has no plan: its file, and everything wrong with it."""

    file: str
    findings: tuple[Finding, ...]


def stacks_index(paths: Iterable[str]) -> dict[str, str]:
    """The index of a folder with the files of several stacks, by which it may be written anew as a whole."""
    return {INDEX: json_text({"writtenBy": WRITTEN_BY, "schemaVersion": VERSION, "files": sorted(paths)})}


def has_stacks_index(folder: Path) -> bool:
    """Whether a folder has such an index, of whatever version of the layout."""
    try:
        document: Any = json_value((folder / INDEX).read_text(encoding="utf-8"))
        return bool(document["writtenBy"] == WRITTEN_BY)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def refused_files(error: ConfigurationError) -> dict[str, str]:
    """The files of such a folder."""
    refused = RefusedPlan(file=error.file, findings=error.findings)
    document = {
        "writtenBy": WRITTEN_BY,
        "schemaVersion": VERSION,
        "files": [],
        REFUSED: refused.model_dump(mode="json", by_alias=True),
    }
    return {INDEX: json_text(document)}


def read_refused(folder: Path) -> RefusedPlan | None:
    """What such a folder says; None for every other folder, whatever is in it."""
    try:
        document: Any = json_value((folder / INDEX).read_text(encoding="utf-8"))
        return RefusedPlan.model_validate(document[REFUSED]) if document["writtenBy"] == WRITTEN_BY else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
