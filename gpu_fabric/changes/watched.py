"""The resources that the guard watches, and what to do instead of losing each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.model import FrozenModel
from gpu_fabric.render.model import RenderedResource

if TYPE_CHECKING:
    from gpu_fabric.changes.model import Effect, ResourceDiff

_CLOUDS = ("digitalocean:", "oci:")
POOLS = ("ip-pools", "node-pools")
NETWORKS, NAMESPACES = "networks", "namespaces"


def is_guarded(resource: RenderedResource | ResourceDiff) -> bool:
    """Whether the guard watches a resource, or needs it because it leads to a watched one."""
    return resource.type.startswith(_CLOUDS) or resource.component in (*POOLS, NETWORKS, NAMESPACES)


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
    evicts: str = ""
    runs: str = ""
    lowered: str = ""
    skips: str = ""
    harmless: str = ""

    def sentence(self, effect: Effect, paths: Iterable[str]) -> str:
        """The sentence for the changed property; without one, the sentence for the effect."""
        for path in paths:
            for property_of, sentence in self.when.items():
                if _is_of(path, property_of):
                    return sentence
        by_effect: str = getattr(self, effect)
        return by_effect or self.replaced


def alternative(resource_type: str, component: str, effect: Effect, paths: Iterable[str]) -> str:
    """What to do instead, by a resource's type, the effect and the changed properties.

    Raises KeyError where neither the type nor the component is in the table.
    """
    table = rows()
    return (table.get(resource_type) or table[component]).sentence(effect, paths)


def is_harmless(resource_type: str) -> bool:
    """Whether deleting resources of a type loses nothing."""
    return bool(rows().get(resource_type, Row()).harmless)


def moves(resource_type: str, path: str) -> bool:
    """Whether the change keeps running workloads but invalidates their addresses."""
    return any(_is_of(path, one) for one in rows().get(resource_type, Row()).moves)


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
