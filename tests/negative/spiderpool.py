"""Spiderpool: which node and which rail a pool of addresses belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake

_AT = "fabric.addressing"


def _nameless_nodes(base: Base) -> Iterator[Mistake]:
    """A prefix for each node of a model whose nodes Spiderpool can tell apart by name only."""
    if base.manager == "spiderpool" and base.model == "macvlan":
        names = "cluster.pools[0].nodeNames"
        changes = {f"{_AT}.layout": "per-node", f"{_AT}.nodePrefixLength": 25}
        yield Mistake({**changes, names: None} if base.has(names) else changes, names)


def _out_of_order(base: Base) -> Iterator[Mistake]:
    """Names by which Spiderpool's webhook adds the rails in another order."""
    if base.manager != "spiderpool":
        return
    word, path = {"software.spiderpool.injection": "all-rails"}, "software.spiderpool.injection"
    if base.model in ("ib-sriov", "ipoib"):
        yield Mistake({**word, "fabric.rails": [{"rail": 0, "network": "storage"}]}, path)
        yield Mistake({**word, "fabric.rails": [{"rail": 7, "network": "a"}]}, path)
    if base.model == "sriov":
        resources = [{"rail": rail, "resource": f"gpu{rail + 4}"} for rail in range(base.rails)]
        yield Mistake({**word, "fabric.rails": resources}, path)
    nics = f"cluster.shapes.{base.pool['shape']}.nics"
    if base.model == "macvlan" and base.has(nics):
        yield Mistake({**word, nics: list(reversed(base.at(nics)))}, path)


KINDS = (
    Kind("the webhook adds networks in another order than the rails'", "SPI011", _out_of_order),
    Kind("a node's prefix is bound to no node", "SPI001", _nameless_nodes),
)  # fmt: skip
