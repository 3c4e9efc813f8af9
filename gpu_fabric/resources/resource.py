"""A resource as Pulumi receives it: type, name, properties and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.record import Ref, Text
from gpu_fabric.plan.records import SecretValue


class Secret(FrozenModel):
    """A secret text that is in no file, by its name."""

    name: str


Leaf = Ref | Text | Secret | SecretValue
"""A placeholder in properties for a value that is known only during `up`, or that is never shown."""


class Timeouts(FrozenModel):
    """Time limits of each operation, such as 30m; None uses the provider's default."""

    create: str | None = None
    update: str | None = None
    delete: str | None = None


class Handling(FrozenModel):
    """Pulumi's options of a resource.

    With `delete_before_replace`, the old resource is deleted before the new one is created. A change of a property in
    `replace_on_changes` replaces the resource; a change of one in `ignore_changes` has no effect. With
    `retain_on_delete`, the resource is kept when it is removed from the stack. `adopts` is the id of an existing
    resource to import. `deleted_with` names the resource whose deletion also deletes this one.
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
    """One resource of the stack: its component, name, and the provider's type token.

    `properties` have the provider's names. `provider` is the provider's resource name; empty for dynamic resources.
    """

    component: str
    name: str
    type: str
    properties: dict[str, Any]
    provider: str = ""
    handling: Handling = Handling()

    def handled(self, **changes: Any) -> Resource:
        """The resource with changed options."""
        return self.model_copy(update={"handling": self.handling.model_copy(update=changes)})


def replace_leaves(value: Any, known: Callable[[Leaf], Any]) -> Any:
    """A value in which each leaf is replaced by `known(leaf)`."""
    # Text is checked first: nearly all values are text, and there may be a million of them.
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: replace_leaves(entry, known) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [replace_leaves(entry, known) for entry in value]
    return known(value) if isinstance(value, Leaf) else value
