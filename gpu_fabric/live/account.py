"""The account at a cloud, as the cloud's own command line shows it: whether it has what a plan needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from gpu_fabric.spec.cluster import OtherPoolSpec, PoolSpec, most_nodes
from gpu_fabric.spec.places import Location


class Ask(Protocol):
    """A command of the cloud's command line, which changes nothing; gives the JSON that it prints."""

    def __call__(self, *arguments: str) -> Any: ...


class Wanted(NamedTuple):
    """Machines of a pool: its name, the machine type, the most nodes, and where the stack file has them."""

    name: str
    machine: str
    nodes: int
    place: Location

    def at(self, key: str) -> Location:
        """The place of one of the pool's keys."""
        return (*self.place, key)


def wanted(pools: tuple[PoolSpec, ...], others: tuple[OtherPoolSpec, ...]) -> Iterator[Wanted]:
    """The machines of the GPU pools, and of those outside the fabric."""
    for number, pool in enumerate(pools):
        yield Wanted(pool.name, pool.shape, most_nodes(pool), ("cluster", "pools", number))
    for number, other in enumerate(others):
        yield Wanted(other.name, other.machine, most_nodes(other), ("cluster", "otherPools", number))
