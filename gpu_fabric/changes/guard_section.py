"""The guard's judgement in Markdown, for the review of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.base.enumeration import first, grouped, quantity
from gpu_fabric.changes.diff_markdown import Section
from gpu_fabric.changes.guard import WITHOUT_LOSS, Group, entries, group_answers, lost_text, needs_text
from gpu_fabric.changes.markup import Level, first_rows, name_list, plain, shorten, span
from gpu_fabric.changes.model import Judgement
from gpu_fabric.report.markdown_text import fold
from gpu_fabric.spec.guard import MOST_DAYS

_LONGEST = 300


def section(judgement: Judgement, file: str) -> Section:
    """Write every danger with its answer and remedy, and the entries to write into the stack file.

    The text names no current day, so that an equal difference has an equal text while nothing is acknowledged.
    """

    def lines(level: Level) -> Iterator[str]:
        found = group_answers(judgement.answers)
        if found:
            yield from _dangers(found, level, file)
        if judgement.leftovers:
            shown, left = first(judgement.leftovers, level.names)
            yield ""
            yield from (f"- {plain(shorten(leftover.remark, _LONGEST))}" for leftover in shown)
            if left:
                yield f"- {quantity(left, 'acknowledgement')} more that nothing needs"

    return lines


def _dangers(found: list[Group], level: Level, file: str) -> Iterator[str]:
    refused = [group for group in found if group.refusal]
    yield ""
    yield f"#### Guard: {needs_text(refused) if refused else 'what needs it is acknowledged'}"
    yield ""
    rows = [*map(_row, found)]
    yield from first_rows(("resource", "what", "lost", "acknowledged"), rows, level.groups)
    shown, left = first(refused, level.groups)
    if not shown:
        return
    losing = all(group.danger.effect not in WITHOUT_LOSS for group in shown)
    yield from ("", "Instead, so that nothing is lost:" if losing else "Instead:", "")
    yield from _alternatives(shown)
    yield from fold(f"To apply it anyway, in {file}", _to_write(shown, left))


def _row(group: Group) -> tuple[str, ...]:
    entry = group.answers[0].acknowledgement
    answer = f"**no**: {group.refusal}"
    if entry is not None:
        answer = f"until {entry.expires}: {plain(shorten(entry.reason, _LONGEST))}"
    name = span(group.name) + (f" ({len(group.answers)})" if len(group.answers) > 1 else "")
    lost = plain(shorten(lost_text(group), _LONGEST)) or "nothing that is counted"
    return name, f"{group.happens}: {plain(shorten(group.danger.why, _LONGEST))}", lost, answer


def _alternatives(refused: Iterable[Group]) -> Iterator[str]:
    for sentence, groups in grouped(refused, lambda group: group.danger.alternative).items():
        yield f"- {name_list(dict.fromkeys(group.name for group in groups), None)}: {sentence}"


def _to_write(refused: Iterable[Group], left: int) -> Iterator[str]:
    yield from ("```yaml", "config:", *(f"  {line}" for line in entries(refused, "YEAR-MONTH-DAY")), "```")
    if left:
        yield from ("", f"and an entry for each of {left} more")
    yield from ("", f"`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.")
