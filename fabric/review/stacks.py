"""What a change does to each stack: it stays, differs, comes, goes, or cannot be planned."""

from __future__ import annotations

from datetime import date
from typing import Literal

from fabric.diff import PlanDiff, plan_diff
from fabric.guard import Judgement, judgement_on
from fabric.model import FrozenModel
from fabric.render import RefusedPlan, RenderedPlan
from fabric.review.reading import NoPlans, Side, Unreadable

State = Literal["unchanged", "changed", "new", "removed", "refused", "unreadable"]


class StackReview(FrozenModel):
    """One stack under a change.

    `diff` is against nothing for a stack that is new or removed, or has no plan before that can be compared with;
    `before` then says of the last why not. `refused` and `unreadable` say why there is none after. `report` is the
    plan for people, of a stack that has no plan before. `judgement` is the guard's, where two plans are compared.
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
        """Whether there is a plan after, or needs to be none."""
        return self.state not in ("refused", "unreadable")

    @property
    def judged(self) -> bool:
        """Whether the guard has judged what is to be judged: a stack that was there before, and is there after."""
        return self.state != "changed" or self.judgement is not None

    @property
    def passes(self) -> bool:
        """Whether the guard has stopped nothing; it has no say without two plans."""
        return self.judgement is None or self.judgement.passes


class Review(FrozenModel):
    """A whole change. `nothing_before` says why there was nothing to compare with; None where there was."""

    stacks: tuple[StackReview, ...]
    nothing_before: NoPlans | None

    @property
    def compared(self) -> bool:
        """Whether there was something to compare with."""
        return self.nothing_before is None

    @property
    def planned(self) -> bool:
        """Whether every stack can be planned."""
        return all(stack.planned for stack in self.stacks)

    @property
    def judged(self) -> bool:
        """Whether the guard has judged every stack, or had none to judge since nothing was planned before."""
        known = self.nothing_before is None or self.nothing_before.yet
        return known and all(stack.judged for stack in self.stacks)

    @property
    def passes(self) -> bool:
        """Whether the guard has stopped no stack."""
        return all(stack.passes for stack in self.stacks)


def review(base: Side | NoPlans, head: Side, today: date) -> Review:
    """Every stack of both sides.

    The guard judges what is lost, by the acknowledgements of the stack files that count on the day.
    """
    nothing_before = base if isinstance(base, NoPlans) else None
    before = {} if isinstance(base, NoPlans) else base
    names = sorted(before.keys() | head.keys())
    return Review(
        stacks=tuple(_stack(name, before.get(name), head.get(name), today) for name in names),
        nothing_before=nothing_before,
    )


_Found = RenderedPlan | RefusedPlan | Unreadable | None


def _stack(name: str, base: _Found, head: _Found, today: date) -> StackReview:
    if isinstance(head, RefusedPlan):
        return StackReview(name=name, state="refused", refused=head)
    if isinstance(head, Unreadable):
        return StackReview(name=name, state="unreadable", unreadable=head.reason)
    if head is None:
        gone = _going(base) if isinstance(base, RenderedPlan) else None
        return StackReview(name=name, state="removed", diff=gone, before=_why_not(base))
    if not isinstance(base, RenderedPlan):
        state: State = "new" if base is None else "changed"
        return StackReview(name=name, state=state, diff=_coming(head), before=_why_not(base), report=head.report)
    if base == head:
        return StackReview(name=name, state="unchanged")
    found = plan_diff(base, head)
    return StackReview(name=name, state="changed", diff=found, judgement=judgement_on(found, base, head, today))


def _why_not(base: _Found) -> str:
    if isinstance(base, RefusedPlan):
        return f"its stack file could not be planned ({len(base.findings)} findings)"
    return base.reason if isinstance(base, Unreadable) else ""


def _going(plan: RenderedPlan) -> PlanDiff:
    return plan_diff(plan, _nothing(plan)).model_copy(update={"elsewhere": (), "findings": (), "versions": ()})


def _coming(plan: RenderedPlan) -> PlanDiff:
    found = plan_diff(_nothing(plan), plan)
    versions = tuple(version.model_copy(update={"old": version.old or None}) for version in found.versions)
    return found.model_copy(update={"elsewhere": (), "versions": versions})


def _nothing(plan: RenderedPlan) -> RenderedPlan:
    """A plan of the same stack that makes nothing."""
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
