"""The difference between two plans as Markdown for a pull request: losses first, details folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gpu_fabric.base.enumeration import first, grouped, quantity
from gpu_fabric.changes.markup import (
    LEVELS,
    Level,
    first_bullets,
    first_rows,
    is_long_text,
    line_changes,
    name_list,
    plain,
    shorten,
    span,
    value_span,
)
from gpu_fabric.changes.model import (
    Change,
    CostDiff,
    GroupChange,
    JobsDiff,
    OrderDiff,
    PlanDiff,
    PoolDiff,
    RailDiff,
    ResourceDiff,
    Verdict,
)
from gpu_fabric.changes.software_diff import eviction
from gpu_fabric.changes.watched import carried, why_no_loss
from gpu_fabric.findings.finding import MOST_CHARACTERS
from gpu_fabric.report.markdown_text import fold, table
from gpu_fabric.resources import Loss, together
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS

LIMIT = 65_536
"""The most characters that GitHub takes in a comment; counted in bytes, which are never fewer."""

Section = Callable[[Level], Iterator[str]]
"""Writes lines of Markdown, as many as a level allows."""

# The most names that a sentence lists; the names of one kind mostly differ by a number.
_NAMES = 4
# The most differences of one part of the contract or of the decisions that are listed.
_DECISIONS = 3
# The longest line of a report, in characters, that is listed.
_SENTENCE = 400
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
    yield f"### Fabric plan of {span(diff.stack)}: {counts if diff.resources else without_resources(diff)}"
    yield ""
    if level.summarised:
        yield (
            f"> Summarised to fit into {limit:,} characters: {level.summarised} are counted. "
            "`gpu-fabric diff --format json` has all."
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
        yield from ("", "#### Versions", "")
        versions = [
            (f"{v.kind} {span(v.name) if v.name else ''}".strip(), _side(v.old), _side(v.new)) for v in diff.versions
        ]
        yield from first_rows(("what", "before", "after"), versions, level.groups, "version")
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
        parts = grouped(diff.elsewhere, _part)
        lines = [_decided(part, changes, level) for part, changes in parts.items()]
        title = f"What jobs read and what the plan decides ({len(parts)})"
        bullets = first_bullets(lines, level.groups)
        # Without resources it is what the change does.
        yield from fold(title, bullets) if diff.resources else ("", f"#### {title}", "", *bullets)
    if diff.order:
        yield from fold(f"Order of the steps ({len(diff.order)})", _order(diff.order, level))


def without_resources(diff: PlanDiff) -> str:
    """The title of a difference without resources: what else differs."""
    parts = {
        "what `up` does on nodes": diff.steps or diff.software,
        "what jobs read": [change for change in diff.elsewhere if "contract" in change.path.split(".")[0]],
        "versions": diff.versions,
        "addresses": diff.rails,
        "cost": diff.cost,
    }
    named = [part for part, found in parts.items() if found]
    others = (
        diff.elsewhere or diff.findings or diff.proof or diff.place or diff.acknowledged != diff.acknowledged_before
    )
    words = ", ".join(named) or ("what the plan says" if others else "")
    return f"no resource differs, only {words}" if words else "no resource differs"


def _part(change: Change) -> str:
    """The part of the contract or of the decisions: the first key."""
    return re.split(r"[.\[]", change.path)[0]


def _decided(part: str, changes: list[Change], level: Level) -> str:
    """The first differences of a part; `--format json` has all."""
    if changes[0].path == part:
        return change_text(changes[0])
    shown, left = first(changes, _DECISIONS if level.names is None else min(level.names, _DECISIONS))
    inner = [change.model_copy(update={"path": change.path.removeprefix(part).lstrip(".")}) for change in shown]
    return f"{span(part)}: {'; '.join([*map(change_text, inner), *([f'{left} more'] if left else [])])}"


def _software(diff: PlanDiff, level: Level) -> Iterator[str]:
    """What happens on nodes, other than resources: lines before and after, and what must be acknowledged."""
    shown, left = first(diff.steps, level.groups)
    for step in shown:
        sides = [plain(shorten(side, _SENTENCE)) for side in (step.old, step.new) if side is not None]
        word = "" if step.old and step.new else "new: " if step.new else "no longer: "
        yield f"What `up` does, {plain(step.title)}: {word}{' → '.join(sides)}"
    if left:
        yield f"What `up` does: {quantity(left, 'line')} more"
    if (found := diff.software) is None:
        return
    if found.evicts_after is not None:
        yield f"**Jobs on nodes are evicted**: {eviction(found)}"
    if found.owner is not None:
        yield f"**NICs in use get another owner**: {plain(found.owner.why)}"
    shown_programs, left = first(found.programs, level.groups)
    for program in shown_programs:
        command = f", command {span(program.command)}" if program.command else ""
        yield f"**New with root on nodes**: image {span(program.image)}{command}, in {span(program.identity)}"
    if left:
        yield f"**New with root on nodes**: {quantity(left, 'program')} more"
    yield from (
        f"**{'Leaves out versions' if step.left_out else 'Goes back'}**: {plain('; '.join(step.words))}"
        for step in found.versions
    )


def _summary(diff: PlanDiff, level: Level, compared: bool) -> Iterator[str]:
    if compared and not diff.loses and not diff.software and not (diff.jobs and diff.jobs.gone):
        yield "Nothing is taken away."
    if diff.lost != Loss():
        yield f"**Lost: {diff.lost}.**"
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
    yield from _software(diff, level)
    yield from _without_effect(diff, level)
    if diff.proof:
        yield f"**The proof of the addresses counts with other values**: {', '.join(map(change_text, diff.proof))}"
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
    """What happens to jobs whose manifests were written by the earlier contract; `--format json` has all names."""
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
        served = [rail.label for rail in rails if any(reason.text == text for reason in rail.reasons)]
        yield f"**Rail{'s' * (len(served) > 1)} {', '.join(served)}**: {plain(text)}"


def _cost(cost: CostDiff) -> str:
    if cost.old == cost.new:
        return f"Cost an hour: {span(cost.old)}, before and after"
    if cost.difference is None:
        difference = "the difference is unknown"
    else:
        text = str(cost.difference)
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
            (rail.label, spaces, "; ".join([", ".join(words), *(plain(r.text) for r in rail.reasons)]).strip("; "))
        )
    most = None if level.groups is None else max(level.groups, 16)
    yield from first_rows(("rail", "range", "nodes' shares"), rows, most, "rail")
    if level.nodes != 0 and any(rail.moved or rail.removed or rail.added or rail.hosts for rail in rails):
        yield ""
        yield from table(("rail", "node", "before", "after"), _nodes(rails, level))


def _nodes(rails: tuple[RailDiff, ...], level: Level) -> Iterator[tuple[str, str, str, str]]:
    for rail in rails:
        # The hosts' addresses are in the rows of the same nodes' shares, where these are listed.
        hosts = () if rail.moved else rail.hosts
        shown, left = first((*rail.moved, *hosts, *rail.removed, *rail.added), level.nodes)
        for move in shown:
            yield rail.label, span(move.node), _side(move.old), _side(move.new)
        if left:
            yield rail.label, f"and {quantity(left, 'node')} more", "", ""


def _order(order: tuple[OrderDiff, ...], level: Level) -> Iterator[str]:
    lines = []
    for entry in order:
        words = [f"after {name_list(entry.added, level.names)} now"] if entry.added else []
        words += [f"no longer after {name_list(entry.removed, level.names)}"] if entry.removed else []
        lines.append(f"{span(entry.step)} comes {', and '.join(words)}")
    yield from first_bullets(lines, level.groups, "step")


def _findings(diff: PlanDiff, level: Level) -> Iterator[str]:
    lines = [
        f"{'new' if entry.is_new else 'gone'}: {entry.severity} {entry.id} at {span(entry.path or 'stack')}: "
        + plain(shorten(entry.message, MOST_CHARACTERS))
        for entry in diff.findings
    ]
    yield from first_bullets(lines, level.groups)


# The most forcing properties in a row.
_FORCING = 3


def loss_rows(found: Iterable[ResourceDiff], level: Level) -> tuple[list[tuple[str, str, str]], int]:
    """Rows of what is deleted or replaced, why, and what is lost; and the number of rows left out."""
    groups = grouped(found, lambda entry: (entry.type if entry.follows is None else "", _why(entry, level)))
    shown, left = first(list(groups.values()), level.groups)
    return [_loss_row(entries, level) for entries in shown], left


def created_lines(found: Iterable[ResourceDiff], level: Level) -> Iterator[str]:
    """Lines of what is new, by kind."""
    lines = [
        f"{span(kind)} ({len(entries)}): {name_list(map(_own_name, entries), level.names)}"
        for kind, entries in grouped(found, _kind).items()
    ]
    yield from first_bullets(lines, level.groups, "kind")


def changed_lines(found: Iterable[ResourceDiff], level: Level) -> Iterator[str]:
    """Lines of what is changed, with every property; equal changes are under one heading."""
    shown, left = first(list(grouped(found, _common_key).values()), level.groups)
    for number, entries in enumerate(shown):
        if number:
            yield ""
        yield from _changed(entries, level)
    if left:
        yield from ("", f"and {quantity(left, 'group')} more of resources that differ alike")


def differs_further(entry: ResourceDiff) -> bool:
    """Whether a replaced resource differs in more than its row of the table shows."""
    forcing = [change for change in entry.changes if change.forces]
    is_shown = len(forcing) <= _FORCING and not any(is_long_text(change.old, change.new) for change in forcing)
    return not is_shown or len(forcing) < len(entry.changes) or bool(entry.groups or entry.handling)


def _common_key(entry: ResourceDiff) -> str:
    """The common key of resources that are listed together: the same properties differ, whatever their values."""
    paths = [(change.path, change.kind) for change in (*entry.changes, *entry.handling)]
    return f"{entry.type} {paths} {bool(entry.groups)} {entry.reasons}"


def _changed(entries: list[ResourceDiff], level: Level) -> Iterator[str]:
    one = entries[0]
    same = len({entry.model_dump_json(include={"changes", "handling", "groups"}) for entry in entries}) == 1
    if same:
        yield from (f"**{span(_kind(one))}** {name_list(map(_own_name, entries), level.names)}", "")
        yield from _property_lines(one, _sum(entries), level)
    elif (rows := _value_rows(entries, level)) is not None:
        yield from (f"**{span(_kind(one))}** ({len(entries)})", "", *rows)
    else:
        yield from (f"**{span(_kind(one))}** {span(_own_name(one))}", "")
        yield from _property_lines(one, one.lost if one.verdict == "changed" else Loss(), level)
        others = name_list(map(_own_name, entries[1:]), level.names)
        yield from ("", f"The same properties, each with values of its own, differ in {others}.")


def _property_lines(one: ResourceDiff, lost: Loss, level: Level) -> Iterator[str]:
    if one.verdict == "changed" and lost != Loss():
        yield f"- lost: {lost}"
    if one.verdict == "changed":
        yield from (f"- {plain(shorten(reason, 200))}" for reason in one.reasons)
    changes, more = first([*one.changes, *one.handling], level.properties)
    for change in changes:
        yield from _change(change, level)
    if more:
        yield f"- {more} more of the properties"
    yield from (f"- {_group(group, level)}" for group in one.groups)


def _value_rows(entries: list[ResourceDiff], level: Level) -> list[str] | None:
    """A table of resources that each differ in one short value or in the objects of a group; None for others."""
    most = None if level.properties is None else min(level.properties, 16)
    one = entries[0]
    if one.groups and not one.changes and not one.handling:
        held = [(span(_own_name(e)), "; ".join(_group(g, level) for g in e.groups), str(e.lost)) for e in entries]
        return [*first_rows(("name", "objects", "lost"), held, most)]
    if len(one.changes) != 1 or one.handling or one.groups or one.reasons:
        return None
    (change,) = one.changes
    if change.kind != "changed" or any(is_long_text(e.changes[0].old, e.changes[0].new) for e in entries):
        return None
    values = [(span(_own_name(e)), value_span(e.changes[0].old), value_span(e.changes[0].new)) for e in entries]
    return [*first_rows(("name", f"{span(change.path)} before", "after"), values, most)]


def _loss_row(entries: list[ResourceDiff], level: Level) -> tuple[str, str, str]:
    one = entries[0]
    if one.follows is None:
        what = f"{span(_kind(one))} {name_list(map(_own_name, entries), level.names)}"
    else:
        what = f"{quantity(len(entries), 'resource')} on the cluster"
    networks = tuple(dict.fromkeys(name for entry in entries for name in entry.networks))
    words = [lost] if (lost := str(_sum(entries))) else []
    if networks:
        words.append(f"jobs on {name_list(networks, min(level.names or 2, 2))}")
    if one.follows is None and not one.retained:
        why_not = why_no_loss(one.type, one.verdict)
        words += filter(None, (carried(one.type), f"nothing: {why_not}" if why_not and not words else ""))
    return what, _why(one, level), "; ".join(words) or "nothing"


def _why(entry: ResourceDiff, level: Level) -> str:
    if entry.follows is not None:
        return f"is deleted with {span(entry.follows[1])}, on which it is"
    if entry.verdict == "deleted":
        return "no longer planned; stays where it is" if entry.retained else "no longer planned"
    forcing = [change for change in entry.changes if change.forces]
    shown, left = first(forcing, _FORCING if level.properties is None else min(_FORCING, level.properties))
    words = [change_text(change) for change in shown]
    if left:
        words.append(f"{left} more" if shown else f"{left} that cannot change in place")
    reasons, more = first(entry.reasons, level.names)
    words += [plain(shorten(reason, 200)) for reason in reasons]
    if more:
        words.append(f"{quantity(more, 'reason')} more" if reasons else "for something that it needs")
    if entry.first_deleted:
        words.append("deleted before the new one is created")
    return "; ".join(words)


def change_text(change: Change) -> str:
    """A property with its values before and after, on one line."""
    if is_long_text(change.old, change.new):
        return f"{span(change.path)} {change.kind}"
    if change.kind != "changed":
        return f"{span(change.path)}: {value_span(change.new if change.kind == 'added' else change.old)} {change.kind}"
    return f"{span(change.path)}: {value_span(change.old)} → {value_span(change.new)}"


def _change(change: Change, level: Level) -> Iterator[str]:
    if is_long_text(change.old, change.new):
        before, after = (len(str(value or "").splitlines()) for value in (change.old, change.new))
        yield f"- {span(change.path)}: {before} → {quantity(after, 'line')}"
        yield from (f"  {line}" for line in line_changes(change.old, change.new, level.lines))
    else:
        yield f"- {change_text(change)}"


def _group(group: GroupChange, level: Level) -> str:
    most = 3 if level.names is None else min(level.names, 3)
    parts = (("more", group.added), ("fewer", group.removed), ("changed", group.changed))
    words = [f"{len(names)} {word} ({name_list(names, most)})" for word, names in parts if names]
    return f"{span(group.kind)}: {', '.join(words)}"


def _sum(entries: Iterable[ResourceDiff]) -> Loss:
    return together(entry.lost for entry in entries)


def _kind(entry: ResourceDiff) -> str:
    """A resource's kind: of a Kubernetes object, of a cloud resource, a release, or a group."""
    if entry.type == RELEASE:
        return "release"
    if entry.type == KEPT_OBJECTS:
        return "group of objects"
    words = entry.identity.split(" ")
    if entry.type.startswith("kubernetes:"):
        return f"patch of {words[1]}" if entry.type.endswith("Patch") else words[1]
    return words[0]


def _own_name(entry: ResourceDiff) -> str:
    """A resource's name among its kind; Pulumi's name where it has no other."""
    words = entry.identity.split(" ")
    if entry.type == RELEASE:
        return words[1]
    if entry.type == KEPT_OBJECTS:
        return entry.name
    rest = " ".join(words[2:] if entry.type.startswith("kubernetes:") else words[1:])
    return rest or entry.name
