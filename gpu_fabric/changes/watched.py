"""What is lost with a resource or is not (`no_loss.yaml`), and what to do instead (`alternatives.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpu_fabric.base.tables import read_table
from gpu_fabric.model import FrozenModel

if TYPE_CHECKING:
    from gpu_fabric.changes.model import Effect

POOLS = ("ip-pools", "node-pools")
NETWORKS, NAMESPACES = "networks", "namespaces"
_OTHERS = "others"


class NoLoss(FrozenModel):
    """A row of `no_loss.yaml`: resources of a type that are deleted, or replaced, without a loss, and why."""

    type: str
    verdict: Literal["deleted", "replaced"]
    reason: str


@cache
def no_losses() -> dict[tuple[str, str], str]:
    """The reasons why nothing is lost, by type and verdict."""
    rows = [NoLoss.model_validate(row) for row in read_table(Path(__file__).with_name("no_loss.yaml"))]
    return {(row.type, row.verdict): row.reason for row in rows}


def why_no_loss(resource_type: str, verdict: str) -> str:
    """Why nothing is lost with a resource that is deleted or replaced; empty where something is."""
    return no_losses().get((resource_type, verdict), "")


class Row(FrozenModel):
    """A row of `alternatives.yaml`, for resource types or for the objects of a component."""

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
    handed_over: str = ""
    carries: str = ""

    def sentence(self, effect: Effect, paths: Iterable[str]) -> str:
        """The sentence for the changed property; without one, the sentence for the effect."""
        for path in paths:
            for property_of, sentence in self.when.items():
                if _is_of(path, property_of):
                    return sentence
        by_effect: str = getattr(self, effect)
        return by_effect or self.replaced


def alternative(resource_type: str, component: str, effect: Effect, paths: Iterable[str]) -> str:
    """What to do instead, by a resource's type, the effect and the changed properties."""
    table = rows()
    return (table.get(resource_type) or table.get(component) or table[_OTHERS]).sentence(effect, paths)


def carried(resource_type: str) -> str:
    """What is deleted with a resource of a type, in the stack and outside of it; empty for most types."""
    return rows().get(resource_type, Row()).carries


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
