"""The definitions in a chart's folder `crds`: of a folder of this project, or by the user's own helm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from gpu_fabric.base.simulators import chart_folder
from gpu_fabric.plan.records import ChartReference

_LIMIT_S = 120


def chart_definitions(chart: ChartReference, root: Path) -> tuple[dict[str, Any], ...]:
    """The definitions that a chart installs and never upgrades; none where the chart cannot be had from here."""
    import yaml

    if chart.path is not None:
        folder = chart_folder(chart.path, root) / "crds"
        texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.yaml"))]
    else:
        texts = [_shown(chart)]
    try:
        documents = [document for text in texts for document in yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return ()
    return tuple(found for found in documents if isinstance(found, dict) and found.get("kind") == _KIND)


_KIND = "CustomResourceDefinition"


def _shown(chart: ChartReference) -> str:
    """What `helm show crds` prints; nothing without helm, or where it does not reach the repository."""
    program = shutil.which("helm")
    if program is None or chart.repository is None:
        return ""
    is_registry = chart.repository.startswith("oci://")
    source = [f"{chart.repository}/{chart.name}"] if is_registry else [chart.name, "--repo", chart.repository]
    try:
        done = subprocess.run(
            [program, "show", "crds", *source, "--version", chart.version],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return ""
    return done.stdout if done.returncode == 0 else ""
