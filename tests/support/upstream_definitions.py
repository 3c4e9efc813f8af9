"""The vendors' definitions, read where they are checked out beside this repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

UPSTREAM = Path(__file__).resolve().parents[3] / "shared" / "upstream"


def definitions_in(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and `spec` of every definition of one chart."""
    for path in sorted((UPSTREAM / "crds" / folder).glob("*.yaml")):
        for document in filter(None, yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)):
            yield document["metadata"]["name"], document["spec"]
