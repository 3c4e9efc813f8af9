"""Findings about several objects or nodes: names in a message, and what only some nodes of a pool have."""

from __future__ import annotations

from collections.abc import Sequence, Sized

from gpu_fabric.base.enumeration import first_names
from gpu_fabric.findings import Finding, finding

_MOST_NAMES = 4


def of_some_nodes(found: Finding, affected: int, nodes: int) -> Finding:
    """A finding about nodes, which is a warning where others of the pool are as planned: a machine in repair."""
    if affected == nodes:
        return found
    return finding("PRE062", found.path, found.message, found.remedy, seen=found.seen)


def some(names: Sequence[str]) -> str:
    """Names for a message, of many the first."""
    return first_names(names, _MOST_NAMES)


def verb(found: Sized, one: str, several: str) -> str:
    """The form of a word for one, or for several."""
    return one if len(found) == 1 else several
