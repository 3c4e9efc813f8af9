"""Differences as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.findings import Severity, escaped
from gpu_fabric.live.cluster import Cluster, field
from gpu_fabric.live.difference import Difference


def difference_lines(found: Difference) -> tuple[str, ...]:
    """One difference: its rule and place, what was seen, what to do."""
    return (
        f"{found.severity.value} {found.id} {escaped(found.path)}: {escaped(found.message)}",
        *(f"    seen: {escaped(str(seen))}" for seen in found.seen),
        f"    -> {escaped(found.remedy)}",
    )


def preflight_lines(
    stack: str,
    cluster: Cluster | None,
    found: Sequence[Difference],
    nothing: str = "nothing stands in the way of `up`",
) -> Iterator[str]:
    """All differences of a stack and a cluster, and how many are more than a note; without a cluster, the account's."""
    if cluster is None:
        yield f"stack {escaped(stack)} and the account at its cloud"
    else:
        version = escaped(str(field(cluster.get("/version"), "gitVersion") or "of unknown version"))
        yield f"stack {escaped(stack)} and a cluster of Kubernetes {version} with {len(cluster.nodes)} nodes"
    for entry in found:
        yield from difference_lines(entry)
    errors, warnings = (sum(one.severity is which for one in found) for which in (Severity.ERROR, Severity.WARNING))
    yield f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}" if errors or warnings else nothing


def preflight_document(stack: str, cluster: Cluster | None, found: Sequence[Difference]) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "stack": stack,
        "kubernetes": None if cluster is None else field(cluster.get("/version"), "gitVersion"),
        "nodes": None if cluster is None else len(cluster.nodes),
        "differences": [entry.model_dump(mode="json", by_alias=True) for entry in found],
    }


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
