"""What a change does to every stack: unchanged, changed, new, removed, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Literal

from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.model import Judgement, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.model import FrozenModel
from gpu_fabric.render import (
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
"""The stacks of one side, by name: a rendered plan, or why there is none."""


NOTHING_YET = "no-plans-yet"
"""Marker file: the base commit has no command that plans all stacks, so that it has no plans."""


class NoPlans(FrozenModel):
    """Why no earlier plan is known; with `yet` that is expected, since the command did not exist."""

    yet: bool


class ReviewError(Exception):
    """A folder holds no rendered plans; the text names the folder and the reason."""


def read_side(folder: Path) -> Side:
    """Read the stacks of a folder, in the order of their names.

    Raises:
        ReviewError: the folder does not exist, or `plan --all --out` did not write it.
    """
    try:
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise ReviewError(f"{folder}: no rendered plans: {error.strerror}") from None
    # In any other folder each stack would look new or removed, and the guard would not judge it.
    if not has_stacks_index(folder):
        raise ReviewError(f"{folder}: no rendered plans: it has no index.json of `plan --all --out`")
    return {path.name: _read_stack(path) for path in folders}


def read_base(folder: Path) -> Side | NoPlans:
    """Read the stacks before the change, or why none is known."""
    if (folder / NOTHING_YET).is_file():
        return NoPlans(yet=True)
    try:
        return read_side(folder)
    except ReviewError:
        return NoPlans(yet=False)


def _read_stack(folder: Path) -> RenderedPlan | RefusedPlan | Unreadable:
    if (refused := read_refused(folder)) is not None:
        return refused
    try:
        plan = read_rendered(folder)
    except RenderedPlanError as error:
        # Readers of a comment do not need the folder's path.
        return Unreadable(reason=str(error).removeprefix(f"{folder}: "))
    if plan.stack != folder.name:
        return Unreadable(reason=f"it holds the plan of another stack, {plan.stack}")
    return plan


State = Literal["unchanged", "changed", "new", "removed", "refused", "unreadable"]


class StackReview(FrozenModel):
    """One stack under a change.

    `diff` is against an empty plan for a new or removed stack, and for one without a usable earlier plan; `before` then
    says why that cannot be used. `refused` and `unreadable` say why there is no later plan. `report` is the printed
    plan of a stack without an earlier one. `judgement` is set where two plans are compared.
    """

    name: str
    state: State
    diff: PlanDiff | None = None
    before: str = ""
    report: str = ""
    refused: RefusedPlan | None = None
    unreadable: str = ""
    judgement: Judgement | None = None

    @property
    def planned(self) -> bool:
        """Whether the stack could be planned, or is removed."""
        return self.state not in ("refused", "unreadable")

    @property
    def judged(self) -> bool:
        """Whether the guard has judged the stack, if it exists on both sides."""
        return self.state != "changed" or self.judgement is not None

    @property
    def passes(self) -> bool:
        """Whether the guard refuses nothing; without two plans there is nothing to refuse."""
        return self.judgement is None or self.judgement.passes


class Review(FrozenModel):
    """A whole change; `nothing_before` says why no earlier plans are known, and is None where they are."""

    stacks: tuple[StackReview, ...]
    nothing_before: NoPlans | None

    @property
    def compared(self) -> bool:
        """Whether earlier plans were compared."""
        return self.nothing_before is None

    @property
    def planned(self) -> bool:
        """Whether every stack could be planned."""
        return all(stack.planned for stack in self.stacks)

    @property
    def judged(self) -> bool:
        """Whether the guard has judged every stack, or whether no earlier plans are expected."""
        known = self.nothing_before is None or self.nothing_before.yet
        return known and all(stack.judged for stack in self.stacks)

    @property
    def passes(self) -> bool:
        """Whether the guard refuses no stack."""
        return all(stack.passes for stack in self.stacks)


def review(base: Side | NoPlans, head: Side, today: date) -> Review:
    """Compare every stack of both sides.

    The guard judges the losses by the acknowledgements that are valid on the day.
    """
    nothing_before = base if isinstance(base, NoPlans) else None
    before = {} if isinstance(base, NoPlans) else base
    names = sorted(before.keys() | head.keys())
    return Review(
        stacks=tuple(_review_stack(name, before.get(name), head.get(name), today) for name in names),
        nothing_before=nothing_before,
    )


_Found = RenderedPlan | RefusedPlan | Unreadable | None


def _review_stack(name: str, base: _Found, head: _Found, today: date) -> StackReview:
    if isinstance(head, RefusedPlan):
        return StackReview(name=name, state="refused", refused=head)
    if isinstance(head, Unreadable):
        return StackReview(name=name, state="unreadable", unreadable=head.reason)
    if head is None:
        gone = _removed_diff(base) if isinstance(base, RenderedPlan) else None
        return StackReview(name=name, state="removed", diff=gone, before=_why_not(base))
    if not isinstance(base, RenderedPlan):
        state: State = "new" if base is None else "changed"
        return StackReview(name=name, state=state, diff=_new_diff(head), before=_why_not(base), report=head.report)
    if base == head:
        return StackReview(name=name, state="unchanged")
    found = plan_diff(base, head)
    return StackReview(name=name, state="changed", diff=found, judgement=judge_plans(found, base, head, today))


def _why_not(base: _Found) -> str:
    if isinstance(base, RefusedPlan):
        return f"its stack file could not be planned ({len(base.findings)} findings)"
    return base.reason if isinstance(base, Unreadable) else ""


def _removed_diff(plan: RenderedPlan) -> PlanDiff:
    return plan_diff(plan, _empty_plan(plan)).model_copy(update={"elsewhere": (), "findings": (), "versions": ()})


def _new_diff(plan: RenderedPlan) -> PlanDiff:
    found = plan_diff(_empty_plan(plan), plan)
    versions = tuple(version.model_copy(update={"old": version.old or None}) for version in found.versions)
    return found.model_copy(update={"elsewhere": (), "versions": versions})


def _empty_plan(plan: RenderedPlan) -> RenderedPlan:
    """An empty plan of the same stack."""
    return RenderedPlan(
        stack=plan.stack,
        release_line="",
        resources=(),
        waits=(),
        findings=(),
        decisions={},
        proof={},
        rails=(),
        nccl_files={},
        contract={},
        report="",
    )
