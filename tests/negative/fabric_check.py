"""The check of the rails, and keys of the fabric that have no effect where pods get nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_CHECK = "fabric.check"
_SLOT = "fabric.addressing.firstRailSlot"


def _beyond_the_supernet(base: Base) -> Iterator[Mistake]:
    if base.layout not in ("none", "flat") and base.supernet is not None:
        cut_by = "prefixLength" if base.addressing("prefixLength") else "railSlots"
        yield Mistake({_SLOT: 4095, "fabric.addressing.supernet": "172.20.0.0/16"}, f"fabric.addressing.{cut_by}")


KINDS = (
    Kind("the first rail's slot has no effect", "ADR011",
        written(_SLOT, 1, 11, where=lambda base: base.one_pool or base.layout == "none")),
    Kind("the first rail's slot lies beyond the supernet", "ADR007", _beyond_the_supernet),
    Kind("the check or the first rail's slot has a form that it cannot have", "SPC002", together(
        written(_SLOT, -1, "eleven"),
        written(_CHECK, True),
        written_below(_CHECK, ".image", {"image": ""}))),
)  # fmt: skip
