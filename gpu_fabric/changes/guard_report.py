"""The guard's judgement as text for a terminal, and as a section of the difference's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.changes.diff_markdown import Section
from gpu_fabric.changes.guard import Group, group_answers
from gpu_fabric.changes.markup import Level, first, fold, name_list, plain, quantity, shorten, span, table
from gpu_fabric.changes.model import HOSTS, Judgement
from gpu_fabric.changes.resource_lines import loss_text
from gpu_fabric.resources import Loss
from gpu_fabric.resources.order import CLUSTER
from gpu_fabric.spec.guard import MOST_DAYS, days_after

# The most names of one kind that are listed.
_MOST = 3
_EXAMPLE_DAYS = 7


def explanation(judgement: Judgement, file: str) -> str:
    """Describe every danger without an acknowledgement: effect, reason, losses, remedy, and the entry to write.

    `file` is the stack file. Entries that no danger needs are listed too, since one of them may be misspelt. Empty
    where every danger is acknowledged.
    """
    refused = group_answers(judgement.refused)
    return "\n".join(_lines(refused, judgement, file)) if refused else ""


def entries(refused: Iterable[Group], expires: str) -> Iterator[str]:
    """The lines of a stack file that acknowledge dangers."""
    yield "gpu-fabric:guard:"
    yield "  acknowledge:"
    # One resource may have several dangers.
    for name in dict.fromkeys(group.name for group in refused):
        yield f"    - resource: {name}"
        yield f'      expires: "{expires}"'
        yield "      reason: who agreed to lose it, and why"


def lost_text(group: Group) -> str:
    """The losses of a group of dangers; empty where nothing is counted."""
    danger = group.danger
    words = [loss_text(danger.lost)] if danger.lost != Loss() else []
    if danger.networks:
        words.append(f"networks of running jobs: {first_names(danger.networks)}")
    if danger.takes:
        words.append(f"deleted with it: {first_names(danger.takes)}")
    if danger.takes_a_cluster:
        words.append("everything on the cluster")
    if danger.effect == "moved" and danger.component == HOSTS:
        words.append("two hosts may hold one address until every host has its new one")
    elif danger.effect == "moved" and danger.component != CLUSTER:
        words.append("running pods keep addresses that are no longer planned, until they end")
    return "; ".join(words)


def first_names(names: tuple[str, ...]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _lines(refused: list[Group], judgement: Judgement, file: str) -> Iterator[str]:
    count = len(refused)
    verb = "loses" if count == 1 else "lose"
    yield (
        f"{file}: {quantity(count, 'change')} {verb} nodes, networks or addresses in use and "
        f"{'is' if count == 1 else 'are'} not acknowledged, nothing was changed."
    )
    for group in refused:
        yield f"  {group.name}: {group.happens} [{group.danger.identity}]"
        yield f"      why: {group.danger.why}"
        if lost := lost_text(group):
            yield f"      lost: {lost}"
        if group.danger.protected:
            yield "      protected: Pulumi also refuses it while `cluster.protect` is true"
        yield f"      refused: {group.refusal}"
        yield f"      -> {group.danger.alternative}"
    yield from (f"  not needed: {leftover.remark}" for leftover in judgement.leftovers)
    day = days_after(judgement.day, _EXAMPLE_DAYS)
    yield f"To apply it anyway, write into {file} under `config:`, in the place of an entry of the same name:"
    yield from (f"  {line}" for line in entries(refused, str(day)))
    yield f"  (`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.)"


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
    needs = f"{quantity(len(refused), 'change')} {'needs' if len(refused) == 1 else 'need'} an acknowledgement"
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
    by_sentence: dict[str, list[str]] = {}
    for group in refused:
        by_sentence.setdefault(group.danger.alternative, []).append(group.name)
    for sentence, names in by_sentence.items():
        yield f"- {name_list(dict.fromkeys(names), None)}: {sentence}"


def _to_write(refused: Iterable[Group], left: int) -> Iterator[str]:
    yield from ("```yaml", "config:", *(f"  {line}" for line in entries(refused, "YEAR-MONTH-DAY")), "```")
    if left:
        yield from ("", f"and an entry for each of {left} more")
    yield from ("", f"`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.")
