"""What the guard says of a difference, as a section of its Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.diff import Section
from fabric.diff.level import Level, first
from fabric.diff.markup import counted, folded, listed, plain, shortened, span, table
from fabric.guard.explaining import entries, lost_text
from fabric.guard.groups import Group, groups
from fabric.guard.model import Judgement
from fabric.spec.guard import MOST_DAYS

_LONGEST = 300


def section(judgement: Judgement, file: str) -> Section:
    """Every danger with its answer and what to do instead, and what to write into the stack file.

    Says no day of its own, so that the same difference has the same text as long as nobody has acknowledged anything.
    """

    def lines(level: Level) -> Iterator[str]:
        found = groups(judgement.answers)
        if found:
            yield from _dangers(found, level, file)
        if judgement.leftovers:
            shown, left = first(judgement.leftovers, level.names)
            yield ""
            yield from (f"- {plain(shortened(leftover.remark, _LONGEST))}" for leftover in shown)
            if left:
                yield f"- {counted(left, 'acknowledgement')} more that nothing needs"

    return lines


def _dangers(found: list[Group], level: Level, file: str) -> Iterator[str]:
    refused = [group for group in found if group.refusal]
    needs = f"{counted(len(refused), 'change')} {'needs' if len(refused) == 1 else 'need'} an acknowledgement"
    yield ""
    yield f"#### Guard: {needs if refused else 'what is lost is acknowledged'}"
    yield ""
    shown, left = first(found, level.groups)
    yield from table(("resource", "what", "lost", "acknowledged"), map(_row, shown))
    if left:
        yield from ("", f"and {left} more")
    shown, left = first(refused, level.groups)
    if not shown:
        return
    yield from ("", "Instead, so that nothing is lost:", "")
    yield from _alternatives(shown)
    yield from folded(f"To lose it all the same, in {file}", _to_write(shown, left))


def _row(group: Group) -> tuple[str, ...]:
    entry = group.answers[0].acknowledgement
    answer = f"**no**: {group.refusal}"
    if entry is not None:
        answer = f"until {entry.expires}: {plain(shortened(entry.reason, _LONGEST))}"
    name = span(group.name) + (f" ({len(group.answers)})" if len(group.answers) > 1 else "")
    lost = plain(shortened(lost_text(group), _LONGEST)) or "nothing that is counted"
    return name, f"{group.happens}: {plain(shortened(group.why, _LONGEST))}", lost, answer


def _alternatives(refused: Iterable[Group]) -> Iterator[str]:
    by_sentence: dict[str, list[str]] = {}
    for group in refused:
        by_sentence.setdefault(group.alternative, []).append(group.name)
    for sentence, names in by_sentence.items():
        yield f"- {listed(dict.fromkeys(names), None)}: {sentence}"


def _to_write(refused: Iterable[Group], left: int) -> Iterator[str]:
    yield from ("```yaml", "config:", *(f"  {line}" for line in entries(refused, "YEAR-MONTH-DAY")), "```")
    if left:
        yield from ("", f"and an entry for each of {left} more")
    yield from ("", f"`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.")
