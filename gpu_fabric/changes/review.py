"""What a change does to every stack, and the comment on a pull request that says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from html import escape
from pathlib import Path
from typing import Literal

from gpu_fabric.base.enumeration import first, quantity
from gpu_fabric.changes.diff_markdown import LIMIT, markdown_at, without_resources
from gpu_fabric.changes.guard import group_answers, judge_plans
from gpu_fabric.changes.guard_section import section
from gpu_fabric.changes.markup import LEVELS, backticks, name_list, plain, shorten, span, unlink_mentions
from gpu_fabric.changes.model import Judgement, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.findings.finding import MOST_CHARACTERS
from gpu_fabric.model import FrozenModel
from gpu_fabric.render.folder import RenderedPlanError, has_stacks_index, read_refused, read_rendered
from gpu_fabric.render.model import RefusedPlan, RenderedPlan
from gpu_fabric.report.markdown_text import fold, table
from gpu_fabric.resources import Loss


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
    return plan_diff(plan, RenderedPlan(stack=plan.stack)).model_copy(
        update={"elsewhere": (), "findings": (), "versions": ()}
    )


def _new_diff(plan: RenderedPlan) -> PlanDiff:
    found = plan_diff(RenderedPlan(stack=plan.stack), plan)
    versions = tuple(version.model_copy(update={"old": version.old or None}) for version in found.versions)
    return found.model_copy(update={"elsewhere": (), "versions": versions})


MARKER = "<!-- gpu-fabric review -->"
"""The first line, by which the comment is found again after another commit."""

_NOTHING_YET = (
    "> **Nothing was compared**, and the guard has judged nothing: the target branch has no command yet "
    "that plans every stack. Below is what each stack is, not what changes."
)
_NOTHING_PLANNED = (
    "> **Nothing was compared, and the guard has judged nothing**: the target branch could not be planned, "
    "so the losses are not known. The log of the step that plans it says why. Below is what each stack is, not "
    "what changes."
)

_LAST = len(LEVELS)
"""The level at which a stack has only its row in the table."""

# The most rows and names of unchanged stacks, when sections are already left out.
_MOST_ROWS = (None, 200, 40, 10)
# The most findings of a refused stack, by level.
_MOST_FINDINGS = (None, 40, 20, 10, 5, 3, 1)


def comment(review: Review, limit: int = LIMIT) -> str:
    """Write the comment in at most `limit` bytes; the longest stacks are shortened first."""
    differing = sorted((stack for stack in review.stacks if stack.state != "unchanged"), key=_weight)
    # Without earlier plans, every stack would be listed as new.
    levels = [0 if review.compared or not stack.planned else _LAST for stack in differing]
    texts = [_section(stack, level) for stack, level in zip(differing, levels, strict=True)]
    for most in _MOST_ROWS:
        frame = "\n".join(_frame_lines(review, differing, most)) + "\n"
        while _size(frame, texts) > limit and any(level < _LAST for level in levels):
            longest = max(range(len(differing)), key=lambda place: len(texts[place]))
            levels[longest] += 1
            texts[longest] = _section(differing[longest], levels[longest])
        if _size(frame, texts) <= limit:
            break
    return "\n".join([frame, *filter(None, texts)])


def _size(frame: str, texts: Iterable[str]) -> int:
    return len("\n".join([frame, *filter(None, texts)]).encode())


def _weight(stack: StackReview) -> tuple[int, str]:
    """The order of the table: refused by a rule, refused by the guard, removed, with losses."""
    ranks = (
        not stack.planned,
        not (stack.passes and stack.judged),
        stack.state == "removed",
        stack.diff is not None and stack.diff.loses,
    )
    return next((rank for rank, holds in enumerate(ranks) if holds), len(ranks)), stack.name


def _frame_lines(review: Review, differing: list[StackReview], most: int | None) -> Iterator[str]:
    yield MARKER
    yield f"## Fabric plans: {_headline(review, differing)}"
    if review.nothing_before is not None:
        yield from ("", _NOTHING_YET if review.nothing_before.yet else _NOTHING_PLANNED)
    if blind := sum(not stack.judged for stack in differing):
        yield ""
        yield f"> **The guard cannot judge {quantity(blind, 'stack')}**: there is no earlier plan to compare with."
    if refused := sum(not stack.passes for stack in differing):
        yield ""
        yield f"> **The guard stops {quantity(refused, 'stack')}**: what changes there needs an acknowledgement."
    if differing:
        shown, left = first(differing, most)
        yield ""
        yield from table(("stack", "what", "lost", "guard"), _rows(review, shown))
        if left:
            yield from ("", f"and {quantity(left, 'stack')} more, which differ less")
    same = [stack.name for stack in review.stacks if stack.state == "unchanged"]
    if same and differing:
        yield ""
        yield f"{quantity(len(same), 'stack')} as before: {name_list(same, most)}"


def _headline(review: Review, differing: list[StackReview]) -> str:
    if not review.compared:
        return quantity(len(review.stacks), "stack")
    if not differing:
        return f"all {quantity(len(review.stacks), 'stack')} as before"
    known = sum(stack.judged for stack in differing)
    rest = f", {len(differing) - known} not compared" if known < len(differing) else ""
    verb = "differs" if known == 1 else "differ"
    return f"{known} of {quantity(len(review.stacks), 'stack')} {verb}{rest}"


def _rows(review: Review, differing: Iterable[StackReview]) -> Iterator[tuple[str, ...]]:
    for stack in differing:
        compared = review.compared and not stack.before
        lost = "" if stack.diff is None else _lost(stack.diff) if compared else "not compared"
        yield span(stack.name), _what(stack, review.compared), lost, _guard(stack, review.compared)


def _lost(diff: PlanDiff) -> str:
    """The losses, counted; what is lost with nodes or address pools is not repeated."""
    words = [str(diff.lost)] if diff.lost != Loss() else []
    if diff.networks and not diff.lost.nodes:
        words.append(f"{quantity(len(diff.networks), 'network')} of running jobs")
    if shares := _shares(diff):
        words.append(shares)
    if diff.jobs is not None and diff.jobs.gone:
        words.append("what jobs ask for")
    if words:
        return f"**{', '.join(words)}**"
    return "nothing that is counted" if diff.loses else "nothing"


def _shares(diff: PlanDiff) -> str:
    if diff.lost.addresses:
        return ""
    moved = sum(len(rail.moved) for rail in diff.rails)
    removed = 0 if diff.lost.nodes else sum(len(rail.removed) for rail in diff.rails)
    counts = ", ".join(f"{number} {word}" for number, word in ((moved, "move"), (removed, "fewer")) if number)
    return f"shares of addresses: {counts}" if counts else ""


def _what(stack: StackReview, compared: bool) -> str:
    if stack.state == "unreadable":
        return "**its rendered plan cannot be read**"
    if stack.refused is not None:
        return f"**cannot be planned**: {quantity(len(stack.refused.findings), 'problem')}"
    if stack.diff is None:
        return "the stack file is gone"
    of = {verdict: len(stack.diff.of(verdict)) for verdict in ("created", "changed", "replaced", "deleted")}
    if stack.state == "removed":
        return f"the stack file is gone, with {quantity(of['deleted'], 'resource')}"
    if stack.state == "new" or stack.before:
        nodes, gpus = (sum(getattr(pool, f"new_{what}") for pool in stack.diff.pools) for what in ("nodes", "gpus"))
        word = "new: " if compared and stack.state == "new" else ""
        return f"{word}{quantity(of['created'], 'resource')}, {quantity(nodes, 'node')}, {quantity(gpus, 'GPU')}"
    counts = ", ".join(f"{number} {verdict}" for verdict, number in of.items() if number)
    return counts or without_resources(stack.diff)


def _guard(stack: StackReview, compared: bool) -> str:
    """The guard's answer, counted in groups as in its section."""
    if not stack.judged:
        return "**cannot judge**"
    if stack.judgement is None:
        return "" if compared or not stack.planned else "not compared"
    if stack.judgement.refused:
        return f"**stops {quantity(len(group_answers(stack.judgement.refused)), 'change')}**"
    return f"{len(group_answers(stack.judgement.answers))} acknowledged" if stack.judgement.answers else "passes"


def _section(stack: StackReview, level: int) -> str:
    """A stack's own section; empty at the last level."""
    if level >= _LAST or (stack.diff is None and stack.refused is None and not stack.unreadable):
        return ""
    return "\n".join(_section_lines(stack, level)) + "\n"


def _section_lines(stack: StackReview, level: int) -> Iterator[str]:
    if stack.unreadable:
        yield from (f"### {span(stack.name)}: its rendered plan cannot be read", "", plain(stack.unreadable))
    elif stack.refused is not None:
        yield from _refused(stack, level)
    elif stack.diff is not None:
        # In a title, only HTML is interpreted.
        file = unlink_mentions(escape(f"Pulumi.{stack.name}.yaml")).replace("]", "&#93;")
        guard = None if stack.judgement is None else section(stack.judgement, file)
        yield markdown_at(stack.diff, LEVELS[level], guard=guard, compared=stack.judged).rstrip("\n")
        yield from _remarks(stack, level)


def _remarks(stack: StackReview, level: int) -> Iterator[str]:
    """Notes that the difference itself does not contain."""
    if stack.state == "removed":
        yield ""
        yield (
            "The stack file was removed. That alone deletes nothing: the stack's resources remain, and cost money, "
            "until "
            "the stack is destroyed. Above is what a destroy deletes."
        )
    elif stack.before:
        yield from ("", f"There is no earlier plan to compare with: {plain(stack.before)}. Above is the whole stack.")
    elif stack.state == "new":
        yield from ("", "The stack is new: above is all of it.")
    if stack.report and level == 0:
        marks = backticks(stack.report, 4)
        yield from fold("The plan as `gpu-fabric plan` prints it", (f"{marks}text", stack.report, marks))


def _refused(stack: StackReview, level: int) -> Iterator[str]:
    assert stack.refused is not None, "the caller has looked"
    shown, left = first(stack.refused.findings, _MOST_FINDINGS[level])
    yield f"### {span(stack.name)} cannot be planned: {quantity(len(stack.refused.findings), 'problem')}"
    yield from ("", f"In {span(stack.refused.file)}:", "")
    for finding in shown:
        yield f"- {span(finding.path or 'stack')}: {plain(shorten(finding.message, MOST_CHARACTERS))} ({finding.id})"
        yield f"  - {plain(shorten(finding.remedy, MOST_CHARACTERS))}"
    if left:
        yield f"- and {quantity(left, 'problem')} more"
