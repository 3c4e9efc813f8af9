"""YAML files of users: read into nodes with their positions, and how values are written."""

from __future__ import annotations

import re
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


# Texts that PyYAML writes without quotes, and that the readers of kubectl and Pulumi take for a number, a truth value
# or a date, such as Broadcom's PCI id 14e4, without underscores (go-yaml 3.0.1, resolve.go; the words are YAML 1.1's).
_DOUBTFUL = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?0[xobXOB].*|[yYnN]|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)


class PlainDumper(yaml.SafeDumper):
    """Writes no aliases, and quotes around each text that a reader could take for something else.

    PyYAML's writer in Python: the C writer is not everywhere, and its output differs slightly.
    """

    lines: str | None = None
    """The style of a text of several lines; None leaves it to PyYAML."""

    def ignore_aliases(self, data: Any) -> bool:
        """True: what is there twice is written twice."""
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """A text, in quotes where it needs them."""
        style = self.lines if "\n" in data else "'" if _DOUBTFUL.fullmatch(data.replace("_", "")) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


PlainDumper.add_representer(str, PlainDumper.represent_str)


class LineDumper(PlainDumper):
    """Writes scripts and files line by line, as blocks."""

    lines = "|"


def as_yaml(value: Any, **how: Any) -> str:
    """A value as YAML, its keys in the order that they have; `how` are arguments of yaml.dump."""
    return str(yaml.dump(value, Dumper=PlainDumper, sort_keys=False, **how))
