"""Nodes that are to prove their fabric, where they cannot, or where jobs would not get to them."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_READINESS = "fabric.readiness"


def _an_old_server(base: Base) -> Iterator[Mistake]:
    if base.provider == "existing":
        yield Mistake({_READINESS: {}, "cluster.kubernetes": "1.28"}, "cluster.kubernetes")


KINDS = (
    Kind("nodes are proven on a server that cannot limit the pods", "RDY001", _an_old_server),
    Kind(
        "what proves nodes has a form that it cannot have",
        "SPC002",
        together(
            written(_READINESS, True),
            written_below(_READINESS, ".taint", {"taint": "nobody"}),
            written_below(_READINESS, ".seconds", {"seconds": 1}),
            written_below(_READINESS, ".image", {"image": ""}),
            written_below(_READINESS, ".pair.when", {"pair": {"when": "never"}}),
            written_below(_READINESS, ".pair.percent", {"pair": {"percent": 101}}),
            written_below(_READINESS, ".pair.seconds", {"pair": {"seconds": 4}}),
            written_below(_READINESS, ".lostNics", {"lostNics": "if you like"}),
        ),
    ),
)
