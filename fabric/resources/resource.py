"""The form of a resource: what the engine is asked for, and how it is to treat it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabric.model import FrozenModel
from fabric.plan import SecretValue
from fabric.plan.clouds.oke import Ref, Text


class Secret(FrozenModel):
    """A text that no file holds, by what it is."""

    name: str


Leaf = Ref | Text | Secret | SecretValue
"""What stands in properties for a value that is known only while the stack is brought up, or never shown."""


class Timeouts(FrozenModel):
    """How long the engine waits for each operation, such as 30m; None leaves it to the provider."""

    create: str | None = None
    update: str | None = None
    delete: str | None = None


class Handling(FrozenModel):
    """How the engine treats a resource.

    A resource that is `delete_before_replace` is gone before the new one is made. It is made anew when a property of
    `replace_on_changes` changes, and takes no notice of a change of those of `ignore_changes`. One that is
    `retain_on_delete` stays when the stack goes. `adopts` is the id of what exists and becomes the stack's own.
    `deleted_with` names the resource that takes it along, so that it needs no deletion of its own.
    """

    protect: bool = False
    delete_before_replace: bool = False
    replace_on_changes: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    retain_on_delete: bool = False
    adopts: str | None = None
    timeouts: Timeouts = Timeouts()
    deleted_with: str | None = None


class Resource(FrozenModel):
    """One resource of the stack: `component` and `name` are the engine's, `type` is the provider's token.

    `properties` are under the provider's names. `provider` is the name of the one that makes it; empty for the
    engine's own.
    """

    component: str
    name: str
    type: str
    properties: dict[str, Any]
    provider: str = ""
    handling: Handling = Handling()

    def handled(self, **changes: Any) -> Resource:
        """The resource, treated otherwise in some ways."""
        return self.model_copy(update={"handling": self.handling.model_copy(update=changes)})


def with_leaves(value: Any, known: Callable[[Leaf], Any]) -> Any:
    """A value with something else in the place of each leaf."""
    # In this order, since nearly all of it is text, and there may be a million of them.
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: with_leaves(entry, known) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [with_leaves(entry, known) for entry in value]
    return known(value) if isinstance(value, Leaf) else value
