"""Where the written folder will be: in which Git repository, and under which names its parts are known there."""

from __future__ import annotations

import re

from gpu_fabric.model import FrozenModel

_ROOT = "."


class Place(FrozenModel):
    """The stack's name, the Git repository (None where the tool finds it by itself) and the folder's path in it."""

    stack: str
    repository: str | None
    path: str

    def path_of(self, folder: str) -> str:
        """The path of a folder below it in the repository."""
        return folder if self.path == _ROOT else f"{self.path}/{folder}"

    def name_of(self, unit: str | None = None) -> str:
        """The name of an object of the tool for a unit, or for the whole; unique among stacks."""
        name = self.stack if unit is None else f"{self.stack}-{unit}"
        return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
