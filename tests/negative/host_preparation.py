"""Host preparation: jobs that cannot be done, do not fit the fabric, or are somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_AT = "fabric.hostPreparation"
_ADDRESSING = "fabric.addressing"


def _nameless_nodes(base: Base) -> Iterator[Mistake]:
    if base.layout != "none" and not base.one_pool and not base.pool.get("nodeNames"):
        yield Mistake({_AT: {"addresses": True}}, "cluster.pools[0].nodeNames")
    if base.at(f"{_AT}.addresses"):
        yield Mistake({"cluster.pools[0].nodeNames": None}, "cluster.pools[0].nodeNames")


def _too_few_addresses(base: Base) -> Iterator[Mistake]:
    if not base.at(f"{_AT}.addresses"):
        return
    for key in ("reservedFirst", "reservedLast"):
        if base.addressing(key):
            yield Mistake({f"{_ADDRESSING}.{key}": None}, f"{_ADDRESSING}.reservedFirst")
    if base.layout != "per-node":
        end = "reservedLast" if base.addressing("reservedLast") else "reservedFirst"
        yield Mistake({f"{_ADDRESSING}.spareNodes": 60, "fabric.podsPerNic": 2}, f"{_ADDRESSING}.{end}")


def _lossless(**values: int) -> dict[str, Any]:
    return {"lossless": values}


KINDS = (
    Kind("addresses are for nodes without names", "HPR003", _nameless_nodes),
    Kind("too few addresses are kept for hosts", "HPR006", _too_few_addresses),
    Kind("a job is misspelt", "SPC001", together(
        written_below(_AT, ".disableACS", {"disableACS": True}),
        written_below(_AT, ".losless", {"losless": {}}))),
    Kind("a job has settings that it cannot have", "SPC002", together(
        written_below(_AT, ".lossless.priority", _lossless(priority=8)),
        written_below(_AT, ".lossless", _lossless(priority=3, cnpPriority=3), _lossless(dscp=26),
            _lossless(priority=3, cnpDscp=40)),
        written_below(_AT, ".linkType", {"linkType": "switch"}, {"linkType": True}),
        written(_AT, ["lossless"], True))),
)  # fmt: skip
