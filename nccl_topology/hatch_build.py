"""Packs the machines that the linter knows: the catalog has them, and the wheel is used without it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Machines(BuildHookInterface[Any]):
    """Writes `machines.json`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, str(Path(self.root).parent))
        file = Path(mkdtemp(), "machines.json")
        file.write_text(import_module("gpu_fabric.nccl.machines").machines_json(), encoding="utf-8")
        build_data["force_include"][str(file)] = file.name
