"""What a stack does not have until its file asks for it, and what happens without it."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pydantic.alias_generators import to_snake

from gpu_fabric.base.tables import read_rows
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.stack import StackSpec

StackPurpose = Literal["try", "research", "production"]
PURPOSES: tuple[StackPurpose, ...] = ("try", "research", "production")
"""What a stack is for, as `gpu-fabric init` asks."""


class OptionalKey(FrozenModel):
    """A row of `not_asked_for.yaml`: a key of the stack file, what happens without it, and the page about it.

    `value` is what `init` writes for the purposes that need the key. `providers` have it; all where none is stated. The
    managers `lacked_by` refuse it.
    """

    key: str
    value: Any
    purposes: tuple[StackPurpose, ...] = ()
    providers: tuple[str, ...] = ()
    lacked_by: tuple[str, ...] = ()
    without: str
    page: str

    @property
    def place(self) -> tuple[str, ...]:
        """The names on the way to the key."""
        return tuple(self.key.split("."))

    def is_for(self, provider: str, *managers: str | None) -> bool:
        """Whether a stack of a provider, with fabrics of these managers, can have the key."""
        return (not self.providers or provider in self.providers) and not {*self.lacked_by} & {*managers}


def optional_keys() -> tuple[OptionalKey, ...]:
    """All rows, the most important first."""
    return read_rows(Path(__file__).with_name("not_asked_for.yaml"), OptionalKey)


def not_asked_for(spec: StackSpec) -> tuple[OptionalKey, ...]:
    """The keys that a stack could have and does not."""
    # With a profile the manager is the cloud's by default.
    usual = "cloud" if isinstance(spec.cluster, ExistingClusterSpec) and spec.cluster.profile else None
    managers = [fabric.manager or usual for fabric in (spec.fabric, *spec.fabrics.values())]
    rows = (row for row in optional_keys() if row.is_for(spec.cluster.provider, *managers))
    whole: Any = spec
    return tuple(row for row in rows if reduce(_inner, row.place, whole) in (None, False, "default"))


def _inner(section: Any, name: str) -> Any:
    return getattr(section, to_snake(name), None)
