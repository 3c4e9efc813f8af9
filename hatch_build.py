"""What the wheel has of the folder stacks/, and an editable installation in the place of the wheel's own names."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# In a checkout the two folders lie side by side at the top, in the wheel side by side in the core.
_BESIDE = re.compile(r"^( *)from components\b", re.MULTILINE)


class WheelNames(BuildHookInterface[Any]):
    """Packs the stack program as `gpu_fabric.program`; an editable installation finds the checkout's own modules."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root)
        if version == "editable":
            build_data["force_include_editable"] |= {
                str(folder / "editable" / name): name for name in ("gpu_fabric_names.py", "gpu_fabric_names.pth")
            }
            return
        self.scratch = Path(tempfile.mkdtemp())
        for file in sorted((folder / "stacks").glob("*.py")):
            written = self.scratch / file.name
            written.write_text(_BESIDE.sub(r"\1from ..components", file.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(written)] = f"gpu_fabric/program/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.scratch)
