"""NCCL settings with their reasons, one record per row of `nccl.yaml`."""

from __future__ import annotations

from fabric.model import FrozenModel


class NcclSetting(FrozenModel):
    """One environment variable for one group of shapes; `shapes` empty means every shape."""

    variable: str
    value: str
    why: str
    source: str
    shapes: tuple[str, ...] = ()

    def applies_to(self, shape: str) -> bool:
        """Whether the row is meant for this shape."""
        return not self.shapes or shape in self.shapes
