"""The difference between two plans as Markdown for a pull request: losses first, details folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu_fabric.changes.markup import LEVELS, Level, first, fold, name_list, plain, quantity, shorten, span, table
from gpu_fabric.changes.model import CostDiff, JobsDiff, OrderDiff, PlanDiff, PoolDiff, RailDiff, Verdict
from gpu_fabric.changes.resource_lines import (
    change_text,
    changed_lines,
    created_lines,
    differs_further,
    loss_rows,
    loss_text,
)
from gpu_fabric.report.cost import range_text
from gpu_fabric.resources import Loss

LIMIT = 65_536
"""The most characters that GitHub takes in a comment; counted in bytes, which are never fewer."""

Section = Callable[[Level], Iterator[str]]
"""Writes lines of Markdown, as many as a level allows."""

# The most names that a sentence lists; the names of one kind mostly differ by a number.
_NAMES = 4
_VERDICTS: tuple[Verdict, ...] = ("created", "changed", "replaced", "deleted")
_KEPT = (
    "A pod keeps the addresses that it started with: until the running pods end, a rail has addresses of both plans."
)


def markdown(diff: PlanDiff, limit: int = LIMIT, guard: Section | None = None) -> str:
    """Write the whole difference, or as much as fits, with a note on what is only counted.

    `guard` writes the guard's section, which comes before the replacements.
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
    """Write the difference at one level; a note names `limit` as the reason for what is only counted.

    `compared` is false where no earlier plan is known: then the text does not claim that nothing is lost.
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
            "`gpu-fabric diff --json` has all."
        )
        yield ""
    yield from (f"- {line}" for line in _summary(diff, level, compared))
    if guard is not None:
        yield from guard(level)
    for title, found in (("Replaced", by_verdict["replaced"]), ("Deleted", by_verdict["deleted"])):
        if found:
            rows, left = loss_rows(found, level)
            yield from ("", f"#### {title} ({len(found)})", "")
            yield from table(("what", "why", "lost"), rows)
            if left:
                yield from ("", f"and {quantity(left, 'group')} more like these")
    if diff.versions:
        shown, left = first(diff.versions, level.groups)
        yield from ("", "#### Versions", "")
        rows_of = ((f"{v.kind} {span(v.name) if v.name else ''}".strip(), _side(v.old), _side(v.new)) for v in shown)
        yield from table(("what", "before", "after"), rows_of)
        if left:
            yield from ("", f"and {quantity(left, 'version')} more")
    if found := by_verdict["created"]:
        yield from fold(f"Created ({len(found)})", created_lines(found, level))
    if found := by_verdict["changed"]:
        yield from fold(f"Changed in place ({len(found)})", changed_lines(found, level))
    if found := tuple(filter(differs_further, by_verdict["replaced"])):
        yield from fold(f"What else differs in what is replaced ({len(found)})", changed_lines(found, level))
    if diff.rails:
        yield from fold("Addresses, rail by rail", _rails(diff.rails, level))
    if diff.findings:
        yield from fold(f"Findings of the rules ({len(diff.findings)})", _findings(diff, level))
    if diff.elsewhere:
        shown_parts, left = first(diff.elsewhere, level.groups)
        yield from fold(
            f"What jobs read and what the plan decides ({len(diff.elsewhere)})",
            (*(f"- {span(part)}" for part in shown_parts), *([f"- and {left} more"] if left else [])),
        )
    if diff.order:
        yield from fold(f"Order of the steps ({len(diff.order)})", _order(diff.order, level))


def _summary(diff: PlanDiff, level: Level, compared: bool) -> Iterator[str]:
    if compared and not diff.loses and not (diff.jobs and diff.jobs.gone):
        yield "Nothing is taken away."
    if diff.lost != Loss():
        yield f"**Lost: {loss_text(diff.lost)}.**"
    if diff.networks:
        yield f"**Networks of running jobs that are lost:** {name_list(diff.networks, level.names)}"
    if diff.jobs is not None:
        yield _jobs(diff.jobs, level)
    if renewed := [entry.identity for entry in diff.resources if entry.renewed]:
        yield f"**Nodes are renewed**, although this changes in place: {name_list(renewed, level.names)}"
    if protected := [entry.identity for entry in diff.resources if entry.protected]:
        yield f"**`up` refuses this**, since these are protected: {name_list(protected, level.names)}"
    if (place := diff.place) is not None:
        what, then = (
            ("Another region", "No resource shows it; what exists is not found there.")
            if place.provider_of_another is None
            else ("Another cluster", "The objects on the one are deleted there, and created again on the other.")
        )
        yield f"**{what}**, by {span(place.key)}: {_side(place.old)} → {_side(place.new)}. {then}"
    if diff.lowered:
        names = name_list(diff.lowered, level.names)
        yield f"**`up` ends at {names}**: Oracle refuses a lower version of Kubernetes. Nothing is lost by that."
    yield from _without_effect(diff, level)
    yield from _proof(diff)
    yield from _protection(diff)
    yield from _acknowledged(diff, level)
    pools, left = first(diff.pools, level.groups)
    yield from map(_pool, pools)
    if left:
        yield f"{quantity(left, 'pool')} more differ"
    yield from _addresses(diff.rails)
    if diff.cost is not None:
        yield _cost(diff.cost)
    yield f"{quantity(diff.unchanged, 'resource')} as before"


def _jobs(jobs: JobsDiff, level: Level) -> str:
    """What happens to jobs whose manifests were written by the earlier contract; `--json` has all names."""
    most = _NAMES if level.names is None else min(level.names, _NAMES)
    sentences = []
    if jobs.gone:
        what = f"they ask for {name_list(jobs.gone, most)}, which the contract no longer has"
        sentences.append(f"**Jobs attached before stay Pending when they start again**: {what}.")
    if jobs.new:
        words = "New in it:" if jobs.gone else "**Jobs attached before start without what is new in the contract**:"
        sentences.append(f"{words} {name_list(jobs.new, most)}.")
    if jobs.changed:
        words = "It differs in:" if sentences else "**Jobs attached before differ from the contract**:"
        sentences.append(f"{words} {name_list(jobs.changed, most)}.")
    return " ".join((*sentences, "Attach them again: `gpu-fabric attach`."))


def _without_effect(diff: PlanDiff, level: Level) -> Iterator[str]:
    """Changes of the stack file that change nothing that exists."""
    found = [(entry.identity, change) for entry in (*diff.resources, *diff.kept) for change in entry.without_effect]
    shown, left = first(found, level.names)
    for identity, change in shown:
        yield f"**Without effect** on {span(identity)}, which stays as it is: {change_text(change)}"
    if left:
        yield f"**Without effect**: {quantity(left, 'property')} more"


def _proof(diff: PlanDiff) -> Iterator[str]:
    """What the proof of the addresses takes into account, where that differs."""
    if diff.proof:
        yield f"**The proof of the addresses counts with other values**: {', '.join(map(change_text, diff.proof))}"


def _protection(diff: PlanDiff) -> Iterator[str]:
    if (found := diff.protection) is None:
        return
    if names := (*found.on, *found.off):
        word = "on" if found.on else "off"
        yield f"**`cluster.protect` is switched {word}** for {name_list(names, _NAMES)}"
    if found.with_cluster or found.alone:
        counts = ((found.with_cluster, "with it"), (found.alone, "one by one, before it"))
        words = " and ".join(f"{quantity(number, 'object')} {how}" for number, how in counts if number)
        yield f"Where the cluster is deleted, from now on: {words}. Nothing that exists is changed by that."


def _acknowledged(diff: PlanDiff, level: Level) -> Iterator[str]:
    """Acknowledgements that are new or removed; they change no resource."""
    new = (entry for entry in diff.acknowledged if entry not in diff.acknowledged_before)
    gone = (entry for entry in diff.acknowledged_before if entry not in diff.acknowledged)
    for word, found in (("Acknowledged", [*new]), ("No longer acknowledged", [*gone])):
        shown, left = first(found, level.names)
        for entry in shown:
            reason = plain(shorten(entry.reason, 200))
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
    moved, added, removed = (sum(len(getattr(rail, kind)) for rail in rails) for kind in ("moved", "added", "removed"))
    words = [f"{number} {word}" for number, word in ((moved, "move"), (added, "more"), (removed, "fewer")) if number]
    if words:
        yield f"Shares of addresses, a node and rail each: {', '.join(words)}, on {quantity(len(rails), 'rail')}"
    if moved:
        yield _KEPT
    if hosts := sum(len(rail.hosts) for rail in rails):
        yield f"**Hosts' own addresses that change**: {hosts}, one a node and rail"
    texts = list(dict.fromkeys(reason.text for rail in rails for reason in rail.reasons))
    if len(texts) > _NAMES:
        yield f"{quantity(len(texts) - _NAMES, 'reason')} more why addresses change hands"
    for text in texts[:_NAMES]:
        served = [str(rail.rail) for rail in rails if any(reason.text == text for reason in rail.reasons)]
        yield f"**Rail{'s' * (len(served) > 1)} {', '.join(served)}**: {plain(text)}"


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
        words = [f"{number} {word}" for number, word in counts if number]
        words += [f"{quantity(len(rail.hosts), 'host')} of another address"] if rail.hosts else []
        rows.append(
            (str(rail.rail), spaces, "; ".join([", ".join(words), *(plain(r.text) for r in rail.reasons)]).strip("; "))
        )
    shown, left = first(rows, None if level.groups is None else max(level.groups, 16))
    yield from table(("rail", "range", "nodes' shares"), shown)
    if left:
        yield from ("", f"and {quantity(left, 'rail')} more")
    if level.nodes != 0 and any(rail.moved or rail.removed or rail.added or rail.hosts for rail in rails):
        yield ""
        yield from table(("rail", "node", "before", "after"), _nodes(rails, level))


def _nodes(rails: tuple[RailDiff, ...], level: Level) -> Iterator[tuple[str, str, str, str]]:
    for rail in rails:
        # The hosts' addresses are in the rows of the same nodes' shares, where these are listed.
        hosts = () if rail.moved else rail.hosts
        shown, left = first((*rail.moved, *hosts, *rail.removed, *rail.added), level.nodes)
        for move in shown:
            yield str(rail.rail), span(move.node), _side(move.old), _side(move.new)
        if left:
            yield str(rail.rail), f"and {quantity(left, 'node')} more", "", ""


def _order(order: tuple[OrderDiff, ...], level: Level) -> Iterator[str]:
    shown, left = first(order, level.groups)
    for entry in shown:
        words = [f"after {name_list(entry.added, level.names)} now"] if entry.added else []
        words += [f"no longer after {name_list(entry.removed, level.names)}"] if entry.removed else []
        yield f"- {span(entry.step)} comes {', and '.join(words)}"
    if left:
        yield f"- and {quantity(left, 'step')} more"


def _findings(diff: PlanDiff, level: Level) -> Iterator[str]:
    shown, left = first(diff.findings, level.groups)
    for entry in shown:
        word = "new" if entry.is_new else "gone"
        message = shorten(entry.message, 400)
        yield f"- {word}: {entry.severity} {entry.id} at {span(entry.path)}: {plain(message)}"
    if left:
        yield f"- and {left} more"
