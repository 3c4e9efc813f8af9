"""YAML files of users: read into nodes with their positions, and how values are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer

if TYPE_CHECKING:
    from yaml import CSafeLoader as _Events
else:
    # As for tables: without libyaml, Python's loader.
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
