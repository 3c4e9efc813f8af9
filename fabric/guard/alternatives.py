"""What to do in the place of a change that loses something, from the table beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, get_args

from fabric.guard.model import Effect
from fabric.model import FrozenModel
from fabric.tables import read_table


class Row(FrozenModel):
    """What is known of a type, or of a component's objects; see the table."""

    when: dict[str, str] = {}
    moves: tuple[str, ...] = ()
    replaced: str = ""
    deleted: str = ""
    renewed: str = ""
    smaller: str = ""
    moved: str = ""
    harmless: str = ""

    def sentence(self, effect: Effect, paths: Iterable[str]) -> str:
        """The sentence for the property that changes, or else for what happens."""
        for path in paths:
            for property_of, sentence in self.when.items():
                if _is_of(path, property_of):
                    return sentence
        by_effect = self.model_dump(include=set(get_args(Effect)))
        return str(by_effect[effect] or self.replaced)


def alternative(resource_type: str, component: str, effect: Effect, paths: Iterable[str]) -> str:
    """What to do instead, by the type of a resource and the properties that decide.

    Raises KeyError where neither the type nor the component is in the table.
    """
    table = rows()
    return (table.get(resource_type) or table[component]).sentence(effect, paths)


def is_harmless(resource_type: str) -> bool:
    """Whether nothing is lost with resources of a type."""
    row = rows().get(resource_type)
    return row is not None and bool(row.harmless)


def moves(resource_type: str, path: str) -> bool:
    """Whether by a change of a property what is there goes on and no longer fits."""
    row = rows().get(resource_type)
    return row is not None and any(_is_of(path, one) for one in row.moves)


@cache
def rows() -> dict[str, Row]:
    """The table, by type and by component."""
    document: list[dict[str, Any]] = read_table(Path(__file__).with_name("alternatives.yaml"))
    return {
        name: Row.model_validate({key: value for key, value in part.items() if key not in ("types", "components")})
        for part in document
        for name in (*part.get("types", ()), *part.get("components", ()))
    }


def _is_of(path: str, property_of: str) -> bool:
    """Whether a path is of a property, or of something within it; places in lists do not count."""
    keys, wanted = re.sub(r"\[[^]]*]", "", path).split("."), property_of.split(".")
    return keys[: len(wanted)] == wanted
