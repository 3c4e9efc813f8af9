"""YAML files: tables of facts and rules, files read into nodes with their positions, and how values are written."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel
from yaml.composer import Composer

_Row = TypeVar("_Row", bound=BaseModel)


def read_table(path: Path) -> Any:
    """The content of a YAML file of this checkout that holds facts or rules.

    The C loader parses about ten times faster; a wheel without libyaml falls back to Python's loader.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def read_rows(path: Path, row: type[_Row]) -> tuple[_Row, ...]:
    """The rows of a YAML file that is a list; a file is read once."""
    rows: tuple[_Row, ...] = _read_rows(path, row)
    return rows


@cache
def _read_rows(path: Path, row: type[BaseModel]) -> Any:
    return tuple(row.model_validate(entry) for entry in read_table(path))


if TYPE_CHECKING:
    from yaml import CSafeLoader as _Events
else:
    # As in `read_table`.
    _Events = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class NodeLoader(Composer, _Events):
    """A safe loader whose methods that compose nodes are in Python, and so can be overridden."""

    def __init__(self, text: str) -> None:
        _Events.__init__(self, text)
        Composer.__init__(self)


class PlainDumper(yaml.SafeDumper):
    """Writes no aliases. PyYAML's writer in Python: the C writer is not everywhere, and its output differs slightly."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class LineDumper(PlainDumper):
    """Writes scripts and files line by line, as blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


LineDumper.add_representer(str, _text)
