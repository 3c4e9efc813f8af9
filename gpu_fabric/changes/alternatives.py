"""What to do in place of a change that loses something; the sentences are in `alternatives.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, get_args

from gpu_fabric.base.yaml_files import read_table
from gpu_fabric.changes.model import Effect
from gpu_fabric.model import FrozenModel


class Row(FrozenModel):
    """A row of the table, for resource types or for the objects of a component."""

    when: dict[str, str] = {}
    moves: tuple[str, ...] = ()
    replaced: str = ""
    deleted: str = ""
    renewed: str = ""
    smaller: str = ""
    moved: str = ""
    kept: str = ""
    harmless: str = ""

    def sentence(self, effect: Effect, paths: Iterable[str]) -> str:
        """The sentence for the changed property; without one, the sentence for the effect."""
        for path in paths:
            for property_of, sentence in self.when.items():
                if _is_of(path, property_of):
                    return sentence
        by_effect = self.model_dump(include=set(get_args(Effect)))
        return str(by_effect[effect] or self.replaced)


def alternative(resource_type: str, component: str, effect: Effect, paths: Iterable[str]) -> str:
    """What to do instead, by a resource's type, the effect and the changed properties.

    Raises KeyError where neither the type nor the component is in the table.
    """
    table = rows()
    return (table.get(resource_type) or table[component]).sentence(effect, paths)


def is_harmless(resource_type: str) -> bool:
    """Whether deleting resources of a type loses nothing."""
    row = rows().get(resource_type)
    return row is not None and bool(row.harmless)


def moves(resource_type: str, path: str) -> bool:
    """Whether the change keeps running workloads but invalidates their addresses."""
    row = rows().get(resource_type)
    return row is not None and any(_is_of(path, one) for one in row.moves)


@cache
def rows() -> dict[str, Row]:
    """Read the table, by type and by component."""
    document: list[dict[str, Any]] = read_table(Path(__file__).with_name("alternatives.yaml"))
    return {
        name: Row.model_validate({key: value for key, value in part.items() if key not in ("types", "components")})
        for part in document
        for name in (*part.get("types", ()), *part.get("components", ()))
    }


def _is_of(path: str, property_of: str) -> bool:
    """Whether a path leads to a property or into it; places in lists are ignored."""
    keys, wanted = re.sub(r"\[[^]]*]", "", path).split("."), property_of.split(".")
    return keys[: len(wanted)] == wanted
