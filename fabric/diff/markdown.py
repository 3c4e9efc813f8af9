"""The difference between two plans as Markdown for a pull request: what is lost first, details folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fabric.diff.level import LEVELS, Level, first
from fabric.diff.listing import changed_lines, created_lines, differs_further, loss_text, taken_rows
from fabric.diff.markup import counted, folded, listed, plain, shortened, span, table
from fabric.diff.model import CostDiff, JobsDiff, PlanDiff, PoolDiff, RailDiff, Verdict
from fabric.report_cost import range_text
from fabric.resources import Loss

LIMIT = 65_536
"""The most characters that a comment at GitHub takes; held in bytes, which are never fewer."""

Section = Callable[[Level], Iterator[str]]
"""Lines of Markdown, as many as a level tells."""

# As many names of what jobs ask for are told, which mostly differ by a number.
_NAMES = 4
_VERDICTS: tuple[Verdict, ...] = ("created", "changed", "replaced", "deleted")
_KEPT = (
    "A pod has its addresses from when it starts: those that run keep the old ones until they end, "
    "so that a rail has addresses of both plans meanwhile."
)


def markdown(diff: PlanDiff, limit: int = LIMIT, guard: Section | None = None) -> str:
    """The whole difference, or as much as fits with a note of what is only counted.

    `guard` is what the guard says of it, which comes before what is replaced.
    """
    text = ""
    for level in LEVELS:
        text = markdown_at(diff, level, limit, guard)
        if len(text.encode()) <= limit:
            break
    return text


def markdown_at(
    diff: PlanDiff, level: Level, limit: int = LIMIT, guard: Section | None = None, compared: bool = True
) -> str:
    """The difference with just so much told; `limit` is named as the reason of what is only counted.

    `compared` is false where nothing is known of what was before, so that nobody can say that nothing is taken away.
    """
    return "\n".join(_lines(diff, level, limit, guard, compared)) + "\n"


def _lines(diff: PlanDiff, level: Level, limit: int, guard: Section | None, compared: bool) -> Iterator[str]:
    by_verdict = {verdict: diff.of(verdict) for verdict in _VERDICTS}
    counts = ", ".join(f"{len(by_verdict[verdict])} {verdict}" for verdict in _VERDICTS)
    yield f"### Fabric plan of {span(diff.stack)}: {counts if diff.resources else 'no resource differs'}"
    yield ""
    if level.summarised:
        yield (
            f"> Summarised, since a comment takes {limit:,} characters: {level.summarised} are counted. "
            "`python -m fabric diff --json` has all."
        )
        yield ""
    yield from (f"- {line}" for line in _summary(diff, level, compared))
    if guard is not None:
        yield from guard(level)
    for title, found in (("Replaced", by_verdict["replaced"]), ("Deleted", by_verdict["deleted"])):
        if found:
            rows, left = taken_rows(found, level)
            yield from ("", f"#### {title} ({len(found)})", "")
            yield from table(("what", "why", "lost"), rows)
            if left:
                yield from ("", f"and {counted(left, 'group')} more like these")
    if diff.versions:
        shown, left = first(diff.versions, level.groups)
        yield from ("", "#### Versions", "")
        rows_of = ((f"{v.kind} {span(v.name) if v.name else ''}".strip(), _side(v.old), _side(v.new)) for v in shown)
        yield from table(("what", "before", "after"), rows_of)
        if left:
            yield from ("", f"and {counted(left, 'version')} more")
    if found := by_verdict["created"]:
        yield from folded(f"Created ({len(found)})", created_lines(found, level))
    if found := by_verdict["changed"]:
        yield from folded(f"Changed in place ({len(found)})", changed_lines(found, level))
    if found := tuple(filter(differs_further, by_verdict["replaced"])):
        yield from folded(f"What else differs in what is replaced ({len(found)})", changed_lines(found, level))
    if diff.rails:
        yield from folded("Addresses, rail by rail", _rails(diff.rails, level))
    if diff.findings:
        yield from folded(f"Findings of the rules ({len(diff.findings)})", _findings(diff, level))
    if diff.elsewhere:
        shown_parts, left = first(diff.elsewhere, level.groups)
        yield from folded(
            f"What jobs read and what the plan decides ({len(diff.elsewhere)})",
            (*(f"- {span(part)}" for part in shown_parts), *([f"- and {left} more"] if left else [])),
        )


def _summary(diff: PlanDiff, level: Level, compared: bool) -> Iterator[str]:
    if compared and not diff.loses and not (diff.jobs and diff.jobs.gone):
        yield "Nothing is taken away."
    if diff.lost != Loss():
        yield f"**Lost: {loss_text(diff.lost)}.**"
    if diff.networks:
        yield f"**Networks of running jobs among what goes:** {listed(diff.networks, level.names)}"
    if diff.jobs is not None:
        yield _jobs(diff.jobs, level)
    if renewed := [entry.identity for entry in diff.resources if entry.renewed]:
        yield f"**Nodes are renewed**, although this changes in place: {listed(renewed, level.names)}"
    if protected := [entry.identity for entry in diff.resources if entry.protected]:
        yield f"**`up` refuses this**, since these are protected: {listed(protected, level.names)}"
    if (place := diff.place) is not None:
        what, then = (
            ("The cluster is looked for elsewhere", "No resource says so; what exists is not found there.")
            if place.provider_of_another is None
            else ("Another cluster", "What lies on the one is deleted there, and made anew on the other.")
        )
        yield f"**{what}**, by {span(place.key)}: {_side(place.old)} → {_side(place.new)}. {then}"
    yield from _acknowledged(diff, level)
    pools, left = first(diff.pools, level.groups)
    yield from map(_pool, pools)
    if left:
        yield f"{counted(left, 'pool')} more differ"
    yield from _addresses(diff.rails)
    if diff.cost is not None:
        yield _cost(diff.cost)
    yield f"{counted(diff.unchanged, 'resource')} as before"


def _jobs(jobs: JobsDiff, level: Level) -> str:
    """What becomes of jobs whose manifests were written by the contract before; `--json` has all names."""
    most = _NAMES if level.names is None else min(level.names, _NAMES)
    sentences = []
    if jobs.gone:
        what = f"they ask for {listed(jobs.gone, most)}, which the contract no longer has"
        sentences.append(f"**Jobs attached before stay Pending when they start anew**: {what}.")
    if jobs.new:
        words = "New in it:" if jobs.gone else "**Jobs attached before start without what is new in the contract**:"
        sentences.append(f"{words} {listed(jobs.new, most)}.")
    if jobs.changed:
        words = "It has otherwise:" if sentences else "**Jobs attached before have otherwise than the contract**:"
        sentences.append(f"{words} {listed(jobs.changed, most)}.")
    return " ".join((*sentences, "Attach them anew: `python -m fabric attach`."))


def _acknowledged(diff: PlanDiff, level: Level) -> Iterator[str]:
    """Acknowledgements that are new or gone, which are no difference in what is made."""
    new = (entry for entry in diff.acknowledged if entry not in diff.acknowledged_before)
    gone = (entry for entry in diff.acknowledged_before if entry not in diff.acknowledged)
    for word, found in (("Acknowledged", [*new]), ("No longer acknowledged", [*gone])):
        shown, left = first(found, level.names)
        for entry in shown:
            reason = plain(shortened(entry.reason, 200))
            yield f"{word}: {span(entry.resource)} until {entry.expires}: {reason}"
        if left:
            yield f"{word}: {left} {'more' if shown else 'resources'}"


def _pool(pool: PoolDiff) -> str:
    shapes = [span(shape) for shape in (pool.old_shape, pool.new_shape) if shape is not None]
    shape = " → ".join(dict.fromkeys(shapes))
    pairs = (
        (pool.old_nodes, pool.new_nodes, "nodes"),
        (pool.old_gpus, pool.new_gpus, "GPUs"),
        (pool.old_nics, pool.new_nics, "NICs"),
    )
    counts = ", ".join(f"{_numbers(old, new)} {word}" for old, new, word in pairs)
    return f"Pool {span(pool.name)} of {shape}: {counts}"


def _numbers(old: int, new: int) -> str:
    return str(new) if old == new else f"{old} → {new}"


def _addresses(rails: tuple[RailDiff, ...]) -> Iterator[str]:
    moved, added, removed = (
        (
            sum(len(moves) for moves in found)
            for found in zip(*((rail.moved, rail.added, rail.removed) for rail in rails), strict=True)
        )
        if rails
        else (0, 0, 0)
    )
    words = [f"{number} {word}" for number, word in ((moved, "move"), (added, "more"), (removed, "fewer")) if number]
    if words:
        yield f"Shares of addresses, a node and rail each: {', '.join(words)}, on {counted(len(rails), 'rail')}"
    if moved:
        yield _KEPT


def _cost(cost: CostDiff) -> str:
    if cost.old == cost.new:
        return f"Cost an hour: {span(cost.old)}, before and after"
    if cost.difference is None:
        difference = "the difference is unknown"
    else:
        text = range_text(cost.difference)
        difference = f"a difference of {text if text.startswith('-') else f'+{text}'}"
    return f"Cost an hour: {span(cost.old)} → {span(cost.new)}: {difference}"


def _side(version: str | None) -> str:
    return "none" if version is None else span(version)


def _rails(rails: tuple[RailDiff, ...], level: Level) -> Iterator[str]:
    rows = []
    for rail in rails:
        spaces = " → ".join(dict.fromkeys(_side(space) for space in (rail.old_space, rail.new_space)))
        counts = ((len(rail.moved), "move"), (len(rail.added), "more"), (len(rail.removed), "fewer"))
        words = ", ".join(f"{number} {word}" for number, word in counts if number)
        rows.append((str(rail.rail), spaces, words))
    shown, left = first(rows, None if level.groups is None else max(level.groups, 16))
    yield from table(("rail", "range", "nodes' shares"), shown)
    if left:
        yield from ("", f"and {counted(left, 'rail')} more")
    if level.nodes != 0:
        yield ""
        yield from table(("rail", "node", "before", "after"), _nodes(rails, level))


def _nodes(rails: tuple[RailDiff, ...], level: Level) -> Iterator[tuple[str, str, str, str]]:
    for rail in rails:
        shown, left = first((*rail.moved, *rail.removed, *rail.added), level.nodes)
        for move in shown:
            yield str(rail.rail), span(move.node), _side(move.old), _side(move.new)
        if left:
            yield str(rail.rail), f"and {counted(left, 'node')} more", "", ""


def _findings(diff: PlanDiff, level: Level) -> Iterator[str]:
    shown, left = first(diff.findings, level.groups)
    for entry in shown:
        word = "new" if entry.is_new else "gone"
        message = shortened(entry.message, 400)
        yield f"- {word}: {entry.severity} {entry.id} at {span(entry.path)}: {plain(message)}"
    if left:
        yield f"- and {left} more"
