"""One side of a comparison: a folder with a rendered plan, or the reasons why there is none, for each stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabric.model import FrozenModel
from fabric.render import (
    RefusedPlan,
    RenderedPlan,
    RenderedPlanError,
    has_stacks_index,
    read_refused,
    read_rendered,
)


class Unreadable(FrozenModel):
    """A stack's folder that this version cannot read, and why."""

    reason: str


Side = Mapping[str, RenderedPlan | RefusedPlan | Unreadable]
"""What each stack has, by its name."""


NOTHING_YET = "no-plans-yet"
"""The file that stands for plans in the folder of a state before whose program had no command yet that makes them."""


class NoPlans(FrozenModel):
    """Why nothing is known of any stack before; `yet` where that is no fault: there was no command yet to plan them."""

    yet: bool


class ReviewError(Exception):
    """A folder holds no rendered plans; the text names it and says why."""


def read_side(folder: Path) -> Side:
    """The stacks of a folder, in the order of their names.

    Raises:
        ReviewError: there is no such folder, or `plan --all --out` has not written it.
    """
    try:
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise ReviewError(f"{folder}: no rendered plans: {error.strerror}") from None
    # Of any other folder each stack would be new, or gone, and that nobody guards.
    if not has_stacks_index(folder):
        raise ReviewError(f"{folder}: no rendered plans: it has no index.json of `plan --all --out`")
    return {path.name: _stack(path) for path in folders}


def read_base(folder: Path) -> Side | NoPlans:
    """The stacks before, or why none is known."""
    if (folder / NOTHING_YET).is_file():
        return NoPlans(yet=True)
    try:
        return read_side(folder)
    except ReviewError:
        return NoPlans(yet=False)


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
