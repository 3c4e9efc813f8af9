"""The keys of the real charts that the stand-ins do not have."""

from __future__ import annotations

from pathlib import Path

import yaml

FILE = Path(__file__).parent / "charts" / "missing_keys.yaml"


def missing_keys() -> dict[str, dict[str, list[str] | None]]:
    """By release line and chart the real keys that the stand-in lacks; None where the real values were not at hand."""
    found: dict[str, dict[str, list[str] | None]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found
