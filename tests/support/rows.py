"""Rows of tests that lie beside the file that reads them, as YAML."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def rows(file: str, table: str) -> Any:
    """The rows of a table in the YAML file that is called as a Python file is, as they are written there."""
    return tables(Path(file).with_suffix(".yaml"))[table]


@cache
def tables(path: Path) -> Any:
    """What a file has. Every worker reads it before the first test, so the parser is the quick one."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
