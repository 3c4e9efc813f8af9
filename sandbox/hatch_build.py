"""What the files of the wheel are, where their names do not say it: hatchling visits a folder by one of its links."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinkedCharts(BuildHookInterface[Any]):
    """Packs each release line's charts whole; an editable installation gets the checkout's folder by its other name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root)
        if version == "editable":
            build_data["force_include_editable"][str(folder / "checkout.py")] = "__init__.py"
            return
        # The definitions of played operators are not committed, and a wheel has no links by which charts share them.
        sys.path.insert(0, str(folder.parent))
        import_module("sandbox.crds").write_definitions()
        for place, _, names in os.walk(folder / "charts", followlinks=True):
            files = [Path(place, name) for name in names]
            build_data["force_include"] |= {str(file): str(file.relative_to(folder)) for file in files}
