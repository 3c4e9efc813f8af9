"""The one base of all models: frozen, strict about unknown keys, camelCase outside and snake_case inside."""

from __future__ import annotations

from functools import cache
from typing import Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

# Every model asks for the name of each of its fields again, and the names are few.
_camel = cache(to_camel)


class FrozenModel(BaseModel):
    """A value that cannot change; YAML and JSON use camelCase, Python uses snake_case."""

    # Validators are built at first use: a run uses a part of the models, and starts sooner for it.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=_camel, populate_by_name=True, defer_build=True
    )

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Self:
        """The value itself, since it cannot change: pydantic copies each default that is not hashable, at every use."""
        return self
