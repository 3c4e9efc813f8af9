"""Nodes that are to prove their fabric, where they cannot, or where jobs would not get to them."""

from __future__ import annotations

from negative.mistake import Kind, together, written, written_below

_READINESS = "fabric.readiness"


KINDS = (
    Kind("what proves nodes has a form that it cannot have", "SPC002", together(
        written(_READINESS, True),
        written_below(_READINESS, ".taint", {"taint": "nobody"}),
        written_below(_READINESS, ".seconds", {"seconds": 1}),
        written_below(_READINESS, ".image", {"image": ""}),
        written_below(_READINESS, ".pair.when", {"pair": {"when": "never"}}),
        written_below(_READINESS, ".pair.percent", {"pair": {"percent": 101}}),
        written_below(_READINESS, ".pair.seconds", {"pair": {"seconds": 4}}),
        written_below(_READINESS, ".lostNics", {"lostNics": "if you like"}))),
)  # fmt: skip
