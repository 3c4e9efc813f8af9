"""One side of a comparison: a folder with a rendered plan, or the reasons why there is none, for each stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabric.model import FrozenModel
from fabric.render import RefusedPlan, RenderedPlan, RenderedPlanError, read_refused, read_rendered


class Unreadable(FrozenModel):
    """A stack's folder that this version cannot read, and why."""

    reason: str


Side = Mapping[str, RenderedPlan | RefusedPlan | Unreadable]
"""What each stack has, by its name."""


class ReviewError(Exception):
    """A folder holds no rendered plans; the text names it and says why."""


def read_side(folder: Path) -> Side:
    """The stacks of a folder, in the order of their names.

    Raises:
        ReviewError: there is no such folder.
    """
    try:
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise ReviewError(f"{folder}: no rendered plans: {error.strerror}") from None
    return {path.name: _stack(path) for path in folders}


def _stack(folder: Path) -> RenderedPlan | RefusedPlan | Unreadable:
    if (refused := read_refused(folder)) is not None:
        return refused
    try:
        plan = read_rendered(folder)
    except RenderedPlanError as error:
        # Where the folder lies says nothing to the readers of a comment.
        return Unreadable(reason=str(error).removeprefix(f"{folder}: "))
    if plan.stack != folder.name:
        return Unreadable(reason=f"it holds the plan of another stack, {plan.stack}")
    return plan
