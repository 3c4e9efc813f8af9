"""Tables of this checkout: YAML files that hold facts or rules, not what a user writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def read_table(path: Path) -> Any:
    """The content of a table.

    The C loader parses about ten times faster; a wheel without libyaml falls back to the same grammar.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
