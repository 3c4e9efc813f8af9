"""Words by which steps say what they apply and what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpu_fabric.plan.records import PlannedObject, PlannedReadiness


def kinds(planned: Iterable[PlannedObject]) -> str:
    """How many objects there are of each kind."""
    counts = Counter(entry.object.kind for entry in planned)
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def daemon_sets(planned: Iterable[PlannedObject]) -> str:
    """The DaemonSets among objects by name."""
    names = [entry.name for entry in planned if entry.object.kind == "DaemonSet"]
    return f"DaemonSet{'s' if len(names) > 1 else ''} {', '.join(names)}"


def unless_dry_run(planned: Iterable[PlannedObject], waits: str) -> str:
    """What is waited for, unless some of the objects only report."""
    return waits if all(entry.awaited for entry in planned) else "nothing: a dry run, which only reports"


def conditions(readiness: PlannedReadiness) -> str:
    """The conditions of a readiness for people."""
    return " and ".join(map(condition, readiness.conditions))


def condition(wait_for: str | None) -> str:
    """A `pulumi.com/waitFor` condition for people."""
    return "" if wait_for is None else wait_for.removeprefix("jsonpath=")
