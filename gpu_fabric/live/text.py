"""Findings as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.findings import Finding, Severity, escaped
from gpu_fabric.live.cluster import Cluster, field


def preflight_lines(
    stack: str,
    cluster: Cluster | None,
    found: Sequence[Finding],
    nothing: str = "nothing stands in the way of `up`",
) -> Iterator[str]:
    """All differences of a stack and a cluster, and how many are more than a note; without a cluster, the account's."""
    if cluster is None:
        yield f"stack {escaped(stack)} and the account at its cloud"
    else:
        version = escaped(str(field(cluster.get("/version"), "gitVersion") or "of unknown version"))
        yield f"stack {escaped(stack)} and a cluster of Kubernetes {version} with {len(cluster.nodes)} nodes"
    for entry in found:
        yield from entry.lines()
    errors, warnings = (sum(one.severity is which for one in found) for which in (Severity.ERROR, Severity.WARNING))
    yield f"{quantity(errors, 'error')}, {quantity(warnings, 'warning')}" if errors or warnings else nothing


def preflight_document(stack: str, cluster: Cluster | None, found: Sequence[Finding]) -> dict[str, Any]:
    """The same for scripts; `differences` is the name of `findings` until the next release."""
    entries = [entry.json_value() for entry in found]
    return {
        "stack": stack,
        "kubernetes": None if cluster is None else field(cluster.get("/version"), "gitVersion"),
        "nodes": None if cluster is None else len(cluster.nodes),
        "findings": entries,
        "differences": entries,
    }


def damages_lines(stack: str, found: Sequence[Finding], unread_state: str) -> Iterator[str]:
    """All damages, and their number; `unread_state` is why the state was not judged."""
    damaged = sum(one.severity is not Severity.NOTE for one in found)
    yield f"stack {escaped(stack)}: " + (f"{damaged} damaged" if damaged else "nothing is damaged")
    if unread_state:
        yield f"its state was not judged: {escaped(unread_state)}"
    for entry in found:
        yield from entry.lines()


def damages_document(
    stack: str, found: Sequence[Finding], mended: Sequence[str], remaining: Sequence[Finding], unread_state: str
) -> dict[str, Any]:
    """The same for scripts: what was found first, what was done, and what is left; `damages` as `differences` above."""
    first, left = ([{"mends": [], "own": False, **one.json_value()} for one in some] for some in (found, remaining))
    return {
        "stack": stack,
        "stateUnread": unread_state,
        "findings": first,
        "damages": first,
        "mended": list(mended),
        "remaining": left,
    }
