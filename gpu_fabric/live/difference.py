"""A difference between a plan and the cluster as it is: a finding with what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.findings import Finding, rules
from gpu_fabric.live.steps import Step
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import Location, dotted

_MOST_NAMES = 4


class Seen(FrozenModel):
    """What was read in the cluster: an object as `Kind namespace/name`, its field as a dotted path, and the value."""

    object: str
    field: str
    value: str

    def __str__(self) -> str:
        """The same as text."""
        return f"{self.object}, {self.field}: {self.value}" if self.field else f"{self.object}: {self.value}"


class Difference(Finding):
    """A finding about a cluster, with what was seen; `path` is the place in the stack file that it concerns.

    Without `steps` it is only named, and its remedy is done by hand. `is_own` is whether they touch the stack's own
    objects alone: only then is it mended without a question.
    """

    seen: tuple[Seen, ...]
    steps: tuple[Step, ...] = ()
    is_own: bool = False

    @property
    def is_mendable(self) -> bool:
        """Whether the command `doctor` has a way to mend it."""
        return bool(self.steps)


def difference(
    rule: str,
    seen: Seen | Sequence[Seen],
    place: Location = (),
    message: str = "",
    remedy: str = "",
    steps: Sequence[Step] = (),
    *,
    is_own: bool = False,
) -> Difference:
    """A finding of a rule, with the rule's texts where none are given.

    Raises:
        KeyError: the book has no rule with that id.
    """
    row = rules()[rule]
    return Difference(
        id=rule,
        severity=row.severity,
        path=dotted(place) if place else "",
        message=message or row.message,
        remedy=remedy or row.remedy,
        seen=(seen,) if isinstance(seen, Seen) else tuple(seen),
        steps=tuple(steps),
        is_own=is_own,
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
