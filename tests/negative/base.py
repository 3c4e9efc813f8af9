"""A good stack file as a person reads it, without the program: what decides whether a mistake is one in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any


@cache
def _parts(place: str) -> tuple[int | str, ...]:
    """The keys and list positions that a place such as `cluster.pools[0].nodes` leads through."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", place))


@dataclass(frozen=True)
class Base:
    """A good stack file. Choices that it leaves out are those of the configuration reference."""

    name: str
    sections: Mapping[str, Any]

    def at(self, place: str, default: Any = None) -> Any:
        """What is written at a place."""
        here: Any = self.sections
        for part in _parts(place):
            if isinstance(here, Mapping):
                here = here.get(part)
            elif isinstance(here, list) and isinstance(part, int) and part < len(here):
                here = here[part]
            else:
                here = None
            if here is None:
                return default
        return here

    def has(self, place: str) -> bool:
        """Whether something is written at a place."""
        return self.at(place) is not None

    @cached_property
    def nodes(self) -> int:
        return sum(int(pool["nodes"]) for pool in self.at("cluster.pools"))

    @cached_property
    def manager(self) -> str:
        usual = "doks" if self.at("cluster.provider") == "doks" else "network-operator"
        return str(self.at("fabric.manager", usual))

    @cached_property
    def choices(self) -> tuple[object, ...]:
        """What decides, with the wrong values, whether a mistake is one: stacks that are alike have it in common."""
        line = self.at("software.releaseLine", "26.4")
        left_out = {name for name in self.at("software", {}) if self.at(f"software.{name}.install") is False}
        software = (line, frozenset(self.at("cluster.installed", ())), frozenset(left_out))
        pools = [[pool["shape"], pool.get("placement"), *map(pool.__contains__, _OF_POOLS)] for pool in self._pools]
        keys = (frozenset(self.sections), frozenset(self.at("fabric", {})), frozenset(self.at("cluster.shapes", {})))
        addresses = [self.at(f"fabric.addressing.{key}") for key in ("layout", "ipam")]
        choices = [self.at(place) for place in ("fabric.model", "fabric.virtualFunctions", "fabrics")]
        return (self.at("cluster.provider"), self.manager, software, repr((pools, addresses, choices)), keys)

    @cached_property
    def _pools(self) -> list[dict[str, Any]]:
        pools: list[dict[str, Any]] = self.at("cluster.pools")
        return pools


# Keys of a pool whose presence decides what else it may have.
_OF_POOLS = ("nodeNames", "autoScale")
