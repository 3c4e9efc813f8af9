"""Spiderpool: which node and which rail a pool of addresses belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake

_AT = "fabric.addressing"


def _nameless_nodes(base: Base) -> Iterator[Mistake]:
    """A prefix for each node of a model whose nodes Spiderpool can tell apart by name only."""
    if base.manager == "spiderpool" and base.model == "macvlan":
        changes = {f"{_AT}.layout": "per-node", f"{_AT}.nodePrefixLength": 25}
        yield Mistake(changes, "cluster.pools[0].nodeNames")


def _full_prefixes(base: Base) -> Iterator[Mistake]:
    """Pods may take the address that the host's own NIC needs in each prefix."""
    if base.manager == "spiderpool" and base.model == "sriov" and base.layout == "per-node":
        yield Mistake({f"{_AT}.reservedFirst": 1}, f"{_AT}.reservedFirst")
        yield Mistake({f"{_AT}.reservedFirst": 0}, f"{_AT}.reservedFirst")
        if base.has(f"{_AT}.reservedFirst"):
            yield Mistake({f"{_AT}.reservedFirst": None}, f"{_AT}.reservedFirst")


def _names_that_begin_alike(base: Base) -> Iterator[Mistake]:
    if base.manager == "spiderpool" and base.layout == "per-node":
        for names in (("net", "net-b"), ("a-b", "a")):
            entries = [{"rail": rail, "network": name} for rail, name in enumerate(names)]
            yield Mistake({"fabric.rails": entries}, "fabric.rails[0].network")


KINDS = (
    Kind("a node's prefix is bound to no node", "SPI001", _nameless_nodes),
    Kind("a node's prefix leaves no address for the host", "SPI002", _full_prefixes),
    Kind("a rail's pools are taken for another rail's", "SPI006", _names_that_begin_alike),
)
