"""Why something is lost, as words without markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from fabric.diff.markup import counted
from fabric.diff.model import Change, PlaceDiff, RailDiff, ResourceDiff
from fabric.guard.alternatives import moves
from fabric.guard.model import Effect

# As many properties, or rails, are told.
_TOLD = 3
_LONGEST = 60

_ELSEWHERE = {
    "cluster.region": "Oracle is asked there, where nothing of this stack exists",
    "cluster.id": "everything on the cluster counts as another cluster's",
}


def why(entry: ResourceDiff, effect: Effect) -> str:
    """Why a resource is replaced, deleted, smaller or moved: properties with their values before and after."""
    if effect == "deleted":
        return "no longer planned"
    changes = deciding(entry, effect)
    words = [*map(_change, changes), *_groups(entry), *(entry.reasons if effect == "replaced" else ())]
    more = [f"{len(words) - _TOLD} more"] if len(words) > _TOLD else []
    return "; ".join([*words[:_TOLD], *more])


def deciding(entry: ResourceDiff, effect: Effect) -> tuple[Change, ...]:
    """The changes by which it happens; all of them where none is known to be the one."""
    if effect == "replaced":
        return tuple(change for change in entry.changes if change.forces)
    moving = tuple(change for change in entry.changes if moves(entry.type, change.path))
    return moving if effect == "moved" and moving else entry.changes


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
    return f"{place.key}: {old} → {new}: {_ELSEWHERE[place.key]}"


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
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
