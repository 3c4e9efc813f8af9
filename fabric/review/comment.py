"""The comment: every stack that differs, what is lost first; one that is too long tells less of its longest stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from fabric.diff import LIMIT, PlanDiff, markdown_at
from fabric.diff.level import LEVELS, first
from fabric.diff.listing import loss_text
from fabric.diff.markup import backticks, counted, folded, listed, plain, shortened, span, table, unlinked
from fabric.guard.groups import groups
from fabric.guard.markdown import section
from fabric.resources import Loss
from fabric.review.stacks import Review, StackReview

MARKER = "<!-- gpu-fabric review -->"
"""The first line, by which the comment is found again when the change gets another commit."""

_NOTHING_YET = (
    "> **Nothing was compared**, and the guard has judged nothing: the branch that this goes to has no command yet "
    "that plans every stack. Below is what each stack is, not what changes."
)
_NOTHING_PLANNED = (
    "> **Nothing was compared, and the guard has judged nothing**: the branch that this goes to could not be planned, "
    "so that nobody knows what is lost. The log of the step that plans it says why. Below is what each stack is, not "
    "what changes."
)

_LAST = len(LEVELS)
"""The level at which a stack has its row in the table and nothing else."""

# The most rows, and names of stacks that stay as they are, when sections are left out already.
_MOST_ROWS = (None, 200, 40, 10)
# Findings of a stack that cannot be planned, level by level.
_MOST_FINDINGS = (None, 40, 20, 10, 5, 3, 1)


def comment(review: Review, limit: int = LIMIT) -> str:
    """The whole of it in as many bytes, or with less told of the stacks that have most to tell."""
    told = sorted((stack for stack in review.stacks if stack.state != "unchanged"), key=_weight)
    # Without a plan before, every stack would be told as if it were new.
    levels = [0 if review.compared or not stack.planned else _LAST for stack in told]
    texts = [_section(stack, level) for stack, level in zip(told, levels, strict=True)]
    for most in _MOST_ROWS:
        frame = _frame(review, told, most)
        while _size(frame, texts) > limit and any(level < _LAST for level in levels):
            longest = max(range(len(told)), key=lambda place: len(texts[place]))
            levels[longest] += 1
            texts[longest] = _section(told[longest], levels[longest])
        if _size(frame, texts) <= limit:
            break
    return "\n".join([frame, *filter(None, texts)])


def _size(frame: str, texts: Iterable[str]) -> int:
    return len("\n".join([frame, *filter(None, texts)]).encode())


def _weight(stack: StackReview) -> tuple[int, str]:
    """What a reader must see first: what cannot be planned, what the guard stops, what is lost."""
    ranks = (
        not stack.planned,
        not (stack.passes and stack.judged),
        stack.state == "removed",
        stack.diff is not None and stack.diff.loses,
    )
    return next((rank for rank, holds in enumerate(ranks) if holds), len(ranks)), stack.name


def _frame(review: Review, told: list[StackReview], most: int | None) -> str:
    return "\n".join(_frame_lines(review, told, most)) + "\n"


def _frame_lines(review: Review, told: list[StackReview], most: int | None) -> Iterator[str]:
    yield MARKER
    yield f"## Fabric plans: {_headline(review, told)}"
    if review.nothing_before is not None:
        yield from ("", _NOTHING_YET if review.nothing_before.yet else _NOTHING_PLANNED)
    if blind := sum(not stack.judged for stack in told):
        yield ""
        yield f"> **The guard cannot judge {counted(blind, 'stack')}**: there is no plan before to compare with."
    if refused := sum(not stack.passes for stack in told):
        yield ""
        yield f"> **The guard stops {counted(refused, 'stack')}**: what is lost there needs an acknowledgement."
    if told:
        shown, left = first(told, most)
        yield ""
        yield from table(("stack", "what", "lost", "guard"), _rows(review, shown))
        if left:
            yield from ("", f"and {counted(left, 'stack')} more, which differ less")
    same = [stack.name for stack in review.stacks if stack.state == "unchanged"]
    if same and told:
        yield ""
        yield f"{counted(len(same), 'stack')} as before: {listed(same, most)}"


def _headline(review: Review, told: list[StackReview]) -> str:
    if not review.compared:
        return counted(len(review.stacks), "stack")
    if not told:
        return f"all {counted(len(review.stacks), 'stack')} as before"
    known = sum(stack.judged for stack in told)
    rest = f", {len(told) - known} not compared" if known < len(told) else ""
    verb = "differs" if known == 1 else "differ"
    return f"{known} of {counted(len(review.stacks), 'stack')} {verb}{rest}"


def _rows(review: Review, told: Iterable[StackReview]) -> Iterator[tuple[str, ...]]:
    for stack in told:
        compared = review.compared and not stack.before
        lost = "" if stack.diff is None else _lost(stack.diff) if compared else "not compared"
        yield span(stack.name), _what(stack, review.compared), lost, _guard(stack, review.compared)


def _lost(diff: PlanDiff) -> str:
    """What goes, counted where it can be: what goes with nodes or with pools of addresses is not told twice."""
    words = [loss_text(diff.lost)] if diff.lost != Loss() else []
    if diff.networks and not diff.lost.nodes:
        words.append(f"{counted(len(diff.networks), 'network')} of running jobs")
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
        return f"**cannot be planned**: {counted(len(stack.refused.findings), 'problem')}"
    if stack.diff is None:
        return "the stack file is gone"
    of = {verdict: len(stack.diff.of(verdict)) for verdict in ("created", "changed", "replaced", "deleted")}
    if stack.state == "removed":
        return f"the stack file is gone, with {counted(of['deleted'], 'resource')}"
    if stack.state == "new" or stack.before:
        nodes, gpus = (sum(getattr(pool, f"new_{what}") for pool in stack.diff.pools) for what in ("nodes", "gpus"))
        word = "new: " if compared and stack.state == "new" else ""
        return f"{word}{counted(of['created'], 'resource')}, {counted(nodes, 'node')}, {counted(gpus, 'GPU')}"
    counts = ", ".join(f"{number} {verdict}" for verdict, number in of.items() if number)
    return counts or "no resource differs"


def _guard(stack: StackReview, compared: bool) -> str:
    """The guard's word, in changes as its section counts them."""
    if not stack.judged:
        return "**cannot judge**"
    if stack.judgement is None:
        return "" if compared or not stack.planned else "not compared"
    if stack.judgement.refused:
        return f"**stops {counted(len(groups(stack.judgement.refused)), 'change')}**"
    return f"{len(groups(stack.judgement.answers))} acknowledged" if stack.judgement.answers else "passes"


def _section(stack: StackReview, level: int) -> str:
    """A stack's own part; empty at the last level."""
    if level >= _LAST or (stack.diff is None and stack.refused is None and not stack.unreadable):
        return ""
    return "\n".join(_section_lines(stack, level)) + "\n"


def _section_lines(stack: StackReview, level: int) -> Iterator[str]:
    if stack.unreadable:
        yield from (f"### {span(stack.name)}: its rendered plan cannot be read", "", plain(stack.unreadable))
    elif stack.refused is not None:
        yield from _refused(stack, level)
    elif stack.diff is not None:
        # It stands in a title, where only HTML counts.
        file = unlinked(escape(f"Pulumi.{stack.name}.yaml")).replace("]", "&#93;")
        guard = None if stack.judgement is None else section(stack.judgement, file)
        yield markdown_at(stack.diff, LEVELS[level], guard=guard, compared=stack.judged).rstrip("\n")
        yield from _remarks(stack, level)


def _remarks(stack: StackReview, level: int) -> Iterator[str]:
    """What a difference does not say itself."""
    if stack.state == "removed":
        yield ""
        yield (
            "The stack file is gone. By that alone nothing is deleted: what the stack has made stays, and costs, until "
            "somebody destroys it. Above is what goes then."
        )
    elif stack.before:
        yield from ("", f"There is no plan before to compare with: {plain(stack.before)}. Above is the whole stack.")
    elif stack.state == "new":
        yield from ("", "The stack is new: above is all of it.")
    if stack.report and level == 0:
        marks = backticks(stack.report, 4)
        yield from folded("The plan as `python -m fabric plan` prints it", (f"{marks}text", stack.report, marks))


def _refused(stack: StackReview, level: int) -> Iterator[str]:
    assert stack.refused is not None, "the caller has looked"
    shown, left = first(stack.refused.findings, _MOST_FINDINGS[level])
    yield f"### {span(stack.name)} cannot be planned: {counted(len(stack.refused.findings), 'problem')}"
    yield from ("", f"In {span(stack.refused.file)}:", "")
    for finding in shown:
        yield f"- {span(finding.path or 'stack')}: {plain(shortened(finding.message, 400))} ({finding.id})"
        yield f"  - {plain(shortened(finding.remedy, 400))}"
    if left:
        yield f"- and {counted(left, 'problem')} more"
