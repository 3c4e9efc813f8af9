"""What the stack makes in and around a cluster of DigitalOcean's: operators, Multus, what it takes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, provided_by, together

_doks = provided_by("doks")


def _of_nvidia(base: Base) -> bool:
    """AMD's sizes begin with gpu-mi."""
    return _doks(base) and "gpu-mi" not in base.pool["shape"]


def _operator(place: str, **switches: Any) -> Mistakes:
    """The GPU Operator on a cluster that manages its plug-ins itself."""
    at = "software.gpuOperator"

    def made(base: Base) -> Iterator[Mistake]:
        if _of_nvidia(base):
            yield Mistake({at: {"install": True, **switches}}, f"{at}.{place}")

    return made


KINDS = (
    Kind("the GPU Operator brings what DigitalOcean manages", "DOK037", together(
        _operator("driver", driver=True),
        _operator("toolkit", toolkit=True),
        _operator("values.devicePlugin.enabled", values={"devicePlugin": {"enabled": True}}))),
)  # fmt: skip
