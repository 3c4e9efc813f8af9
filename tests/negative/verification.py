"""The section `verification`: what a measurement needs, and values that it cannot have."""

from __future__ import annotations

from typing import Any

from negative.mistake import Kind, together, written, written_below

_SECTION = "verification"


def _on(**more: Any) -> dict[str, Any]:
    return {"enabled": True, "image": "registry.example/nccl-tests:1", **more}


KINDS = (
    Kind("a measurement has a value that it cannot have", "SPC002", together(
        written_below(_SECTION, ".nodes", _on(nodes=1), _on(nodes="two")),
        written_below(_SECTION, ".launcher", _on(launcher="slurm")),
        written_below(_SECTION, ".bar", _on(bar=0), _on(bar=-1), _on(bar="368")),
        written_below(_SECTION, ".minutes", _on(minutes=1)),
        written(_SECTION, True))),
)  # fmt: skip
