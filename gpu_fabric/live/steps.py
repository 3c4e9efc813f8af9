"""The steps that mend what is damaged: what they change, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_fabric.findings import Step
from gpu_fabric.live.cluster import Json, field


class ObjectStep(Step):
    """A change of one object, while it is the one that was judged (`uid`) and still has the values of `expects`."""

    path: str
    uid: str
    expects: dict[str, Any]


class Edit(ObjectStep):
    """A change of fields: `merge` is a JSON merge patch, an empty one writes the object as it is."""

    merge: dict[str, Any]


class Deletion(ObjectStep):
    """The deletion of the object."""


class EngineCommand(Step):
    """A command of Pulumi on the stack. `is_last`: it comes once, after all other steps."""

    arguments: tuple[str, ...]
    is_last: bool


CANCEL = EngineCommand(arguments=("cancel", "--yes"), words="release the lock (pulumi cancel)", is_last=False)
REFRESH = EngineCommand(
    arguments=("refresh", "--yes", "--skip-preview", "--clear-pending-creates"),
    words="read the stack's resources again, and forget interrupted creations (pulumi refresh --clear-pending-creates)",
    is_last=True,
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
