"""A damage: a finding with its evidence and with the steps that mend it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_fabric.findings import Finding, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.preflight.cluster import Json, field
from gpu_fabric.preflight.difference import Seen
from gpu_fabric.spec.places import Location, dotted


class Edit(FrozenModel):
    """A change of one object: `merge` is a JSON merge patch, an empty one writes the object as it is.

    It is made only while the object is the one that was judged (`uid`) and still has the values of `expects`.
    """

    path: str
    uid: str
    expects: dict[str, Any]
    merge: dict[str, Any]
    words: str


class Deletion(FrozenModel):
    """The deletion of one object, while it is the one that was judged and still has the values of `expects`."""

    path: str
    uid: str
    expects: dict[str, Any]
    words: str


class EngineCommand(FrozenModel):
    """A command of Pulumi on the stack. `is_last`: it comes once, after all other steps."""

    arguments: tuple[str, ...]
    words: str
    is_last: bool


Step = Edit | Deletion | EngineCommand

CANCEL = EngineCommand(arguments=("cancel", "--yes"), words="release the lock (pulumi cancel)", is_last=False)
REFRESH = EngineCommand(
    arguments=("refresh", "--yes", "--skip-preview", "--clear-pending-creates"),
    words="read the stack's resources again, and forget interrupted creations (pulumi refresh --clear-pending-creates)",
    is_last=True,
)


class Damage(Finding):
    """What is damaged, what was seen of it, and what mends it.

    Without `steps` it is only named, and its remedy is done by hand. `is_own` is whether the stack's own objects alone
    are touched: only then is it mended without a question.
    """

    seen: tuple[Seen, ...]  # type: ignore[assignment]
    steps: tuple[Step, ...] = ()  # type: ignore[assignment]
    is_own: bool = False

    @property
    def is_mendable(self) -> bool:
        """Whether the command has a way to mend it."""
        return bool(self.steps)


def damage(
    rule: str,
    seen: Seen | Sequence[Seen],
    message: str,
    remedy: str,
    steps: Sequence[Step] = (),
    *,
    is_own: bool = False,
    place: Location = (),
) -> Damage:
    """A damage by a rule of the book, with the rule's severity.

    Raises:
        KeyError: the book has no rule with that id.
    """
    return Damage(
        id=rule,
        severity=rules()[rule].severity,
        path=dotted(place) if place else "",
        message=message,
        remedy=remedy,
        seen=(seen,) if isinstance(seen, Seen) else tuple(seen),
        steps=tuple(steps),
        is_own=is_own,
    )


def uid_of(item: Mapping[str, Any]) -> str:
    """The object's uid, which no later object of the same name has."""
    return str(field(item, "metadata", "uid") or "")


def merged(item: Json, patch: Mapping[str, Any]) -> Json:
    """An object after a JSON merge patch: null removes a key, a list replaces a list."""
    result = dict(item)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            present = result.get(key)
            result[key] = merged(present if isinstance(present, dict) else {}, value)
        else:
            result[key] = value
    return result


def still_has(item: Any, expected: Mapping[str, Any]) -> bool:
    """Whether an object has all of these values."""
    return all(
        still_has(field(item, key), value) if isinstance(value, Mapping) else field(item, key) == value
        for key, value in expected.items()
    )
