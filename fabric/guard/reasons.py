"""Why something is lost, as words without markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from fabric.diff.markup import counted
from fabric.diff.model import Change, PlaceDiff, RailDiff, ResourceDiff
from fabric.guard.alternatives import moves
from fabric.guard.lasting import number, shortened
from fabric.guard.model import Effect

# As many properties, or rails, are told.
_TOLD = 3
_LONGEST = 60

_ELSEWHERE = {
    "cluster.region": "Oracle is asked there, where nothing of this stack exists",
    "clusterId": "its stack has made another cluster since, and everything on the old one counts as gone with it",
}
_ON_ANOTHER = "everything on the one cluster is deleted, and made anew on the other"


def why(entry: ResourceDiff, effect: Effect) -> str:
    """Why a resource is replaced, deleted, smaller or moved: properties with their values before and after."""
    if effect == "deleted":
        return "no longer planned"
    changes = deciding(entry, effect)
    words = [*map(_change, changes), *_groups(entry), *(entry.reasons if effect in ("replaced", "renewed") else ())]
    more = [f"{len(words) - _TOLD} more"] if len(words) > _TOLD else []
    return "; ".join([*words[:_TOLD], *more])


def deciding(entry: ResourceDiff, effect: Effect) -> tuple[Change, ...]:
    """The changes by which it happens; all of them where none is known to be the one."""
    if effect == "replaced":
        return tuple(change for change in entry.changes if change.forces)
    if effect == "renewed":
        return tuple(change for change in entry.changes if change.renews)
    moving = tuple(change for change in entry.changes if moves(entry.type, change.path))
    fewer = tuple(filter(is_less, entry.changes))
    return {"moved": moving, "smaller": fewer}.get(effect) or entry.changes


def is_less(change: Change) -> bool:
    """Whether a property is a number that gets smaller, or is set no longer, such as that of a pool's machines."""
    old, new = number(change.old), number(change.new)
    return old is not None and (change.kind == "removed" if new is None else new < old)


def share_reason(rails: Iterable[RailDiff]) -> str:
    """How many nodes get other addresses, on which rails."""
    served = list(rails)
    nodes = max(len(rail.moved) for rail in served)
    numbers = ", ".join(str(rail.rail) for rail in served[:_TOLD])
    more = f" and {len(served) - _TOLD} more" if len(served) > _TOLD else ""
    verb = "gets" if nodes == 1 else "get"
    return f"{counted(nodes, 'node')} {verb} other addresses on rail{'s' * (len(served) > 1)} {numbers}{more}"


def place_reason(place: PlaceDiff) -> str:
    """That a cluster is looked for where it is not."""
    old, new = (value or "not stated" for value in (place.old, place.new))
    return f"{place.key}: {old} → {new}: {_ELSEWHERE.get(place.key, _ON_ANOTHER)}"


def _groups(entry: ResourceDiff) -> Iterator[str]:
    for group in entry.groups:
        if group.removed:
            yield f"{len(group.removed)} {group.kind} fewer, such as {group.removed[0]}"


def _change(change: Change) -> str:
    if change.kind == "added":
        return f"{change.path}: {_value(change.new)} added"
    if change.kind == "removed":
        return f"{change.path}: {_value(change.old)} removed"
    return f"{change.path}: {_value(change.old)} → {_value(change.new)}"


def _value(value: Any) -> str:
    value = shortened(value)
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
