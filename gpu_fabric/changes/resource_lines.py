"""Resources that differ, as lines and rows of Markdown; equal changes are listed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.changes.markup import (
    Level,
    first,
    is_long_text,
    line_changes,
    name_list,
    plain,
    quantity,
    shorten,
    span,
    table,
    value_span,
)
from gpu_fabric.changes.model import Change, GroupChange, ResourceDiff
from gpu_fabric.resources import Loss, together
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS

# The most forcing properties in a row.
_FORCING = 3


def loss_rows(found: Iterable[ResourceDiff], level: Level) -> tuple[list[tuple[str, str, str]], int]:
    """Rows of what is deleted or replaced, why, and what is lost; and the number of rows left out."""
    groups: dict[str, list[ResourceDiff]] = {}
    for entry in found:
        groups.setdefault(f"{entry.type if entry.follows is None else ''} {_why(entry, level)}", []).append(entry)
    shown, left = first(list(groups.values()), level.groups)
    return [_loss_row(entries, level) for entries in shown], left


def created_lines(found: Iterable[ResourceDiff], level: Level) -> Iterator[str]:
    """Lines of what is new, by kind."""
    kinds: dict[str, list[ResourceDiff]] = {}
    for entry in found:
        kinds.setdefault(_kind(entry), []).append(entry)
    shown, left = first(list(kinds), level.groups)
    for kind in shown:
        entries = kinds[kind]
        yield f"- {span(kind)} ({len(entries)}): {name_list(map(_own_name, entries), level.names)}"
    if left:
        yield f"- and {quantity(left, 'kind')} more"


def changed_lines(found: Iterable[ResourceDiff], level: Level) -> Iterator[str]:
    """Lines of what is changed, with every property; equal changes are under one heading."""
    groups: dict[str, list[ResourceDiff]] = {}
    for entry in found:
        groups.setdefault(_common_key(entry), []).append(entry)
    shown, left = first(list(groups.values()), level.groups)
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
        yield from _properties(one, _sum(entries), level)
    elif (rows := _rows(entries, level)) is not None:
        yield from (f"**{span(_kind(one))}** ({len(entries)})", "", *rows)
    else:
        yield from (f"**{span(_kind(one))}** {span(_own_name(one))}", "")
        yield from _properties(one, one.lost if one.verdict == "changed" else Loss(), level)
        others = name_list(map(_own_name, entries[1:]), level.names)
        yield from ("", f"The same properties, each with values of its own, differ in {others}.")


def _properties(one: ResourceDiff, lost: Loss, level: Level) -> Iterator[str]:
    if one.verdict == "changed" and lost != Loss():
        yield f"- lost: {loss_text(lost)}"
    if one.verdict == "changed":
        yield from (f"- {plain(shorten(reason, 200))}" for reason in one.reasons)
    changes, more = first([*one.changes, *one.handling], level.properties)
    for change in changes:
        yield from _change(change, level)
    if more:
        yield f"- {more} more of the properties"
    yield from (f"- {_group(group, level)}" for group in one.groups)


def _rows(entries: list[ResourceDiff], level: Level) -> list[str] | None:
    """A table of resources that each differ in one short value or in the objects of a group; None for others."""
    shown, left = first(entries, None if level.properties is None else min(level.properties, 16))
    end = ["", f"and {left} more"] if left else []
    one = entries[0]
    if one.groups and not one.changes and not one.handling:
        held = ((span(_own_name(e)), "; ".join(_group(g, level) for g in e.groups), loss_text(e.lost)) for e in shown)
        return [*table(("name", "objects", "lost"), held), *end]
    if len(one.changes) != 1 or one.handling or one.groups or one.reasons:
        return None
    (change,) = one.changes
    if change.kind != "changed" or any(is_long_text(e.changes[0].old, e.changes[0].new) for e in entries):
        return None
    values = ((span(_own_name(e)), value_span(e.changes[0].old), value_span(e.changes[0].new)) for e in shown)
    return [*table(("name", f"{span(change.path)} before", "after"), values), *end]


def loss_text(loss: Loss) -> str:
    """The number of nodes, GPUs and addresses that are lost."""
    words = []
    if loss.nodes or loss.gpus:
        most = "up to " if loss.up_to else ""
        words.append(f"{most}{quantity(loss.nodes, 'node')} with {quantity(loss.gpus, 'GPU')}")
    if loss.addresses:
        words.append(f"{quantity(loss.addresses, 'address')} of the fabric")
    return ", ".join(words)


def _loss_row(entries: list[ResourceDiff], level: Level) -> tuple[str, str, str]:
    one = entries[0]
    if one.follows is None:
        what = f"{span(_kind(one))} {name_list(map(_own_name, entries), level.names)}"
    else:
        what = f"{quantity(len(entries), 'resource')} on the cluster"
    networks = tuple(dict.fromkeys(name for entry in entries for name in entry.networks))
    words = [lost] if (lost := loss_text(_sum(entries))) else []
    if networks:
        words.append(f"jobs on {name_list(networks, min(level.names or 2, 2))}")
    return what, _why(one, level), "; ".join(words) or "nothing"


def _why(entry: ResourceDiff, level: Level) -> str:
    if entry.follows is not None:
        return f"is deleted with {span(entry.follows)}, on which it is"
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
    if change.kind == "added" and not is_long_text(None, change.new):
        yield f"- {span(change.path)}: {value_span(change.new)} added"
    elif change.kind == "removed" and not is_long_text(change.old, None):
        yield f"- {span(change.path)}: {value_span(change.old)} removed"
    elif is_long_text(change.old, change.new):
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
