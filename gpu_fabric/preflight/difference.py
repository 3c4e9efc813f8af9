"""A difference between a plan and the cluster as it is: a finding with what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.findings import Finding, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import Location, dotted

_MOST_NAMES = 4


class Seen(FrozenModel):
    """What was read in the cluster: an object as `Kind namespace/name`, its field as a dotted path, and the value."""

    object: str
    field: str
    value: str


class Difference(Finding):
    """A finding about a cluster; `path` is the place in the stack file that it concerns."""

    seen: Seen  # type: ignore[assignment]


def difference(rule: str, seen: Seen, place: Location, message: str = "", remedy: str = "") -> Difference:
    """A finding of a rule, with the rule's texts where none are given.

    Raises:
        KeyError: the book has no rule with that id.
    """
    row = rules()[rule]
    return Difference(
        id=rule,
        severity=row.severity,
        path=dotted(place),
        message=message or row.message,
        remedy=remedy or row.remedy,
        seen=seen,
    )


def of_some_nodes(found: Difference, affected: int, nodes: int) -> Difference:
    """A difference of nodes, which is a warning where others of the pool are as planned: a machine in repair."""
    if affected == nodes:
        return found
    milder = difference("PRE062", found.seen, (), found.message, found.remedy)
    return milder.model_copy(update={"path": found.path})


def some(names: Sequence[str]) -> str:
    """Names for a message, of many the first."""
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
