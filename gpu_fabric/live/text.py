"""Findings as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.findings import Finding, Severity, Step
from gpu_fabric.findings.finding import escaped
from gpu_fabric.live.cluster import Cluster, field
from gpu_fabric.model import FrozenModel


class Differences(FrozenModel):
    """What preflight or drift found, for scripts; without a cluster, of the account alone.

    `differences` is the name of `findings` until the next release.
    """

    stack: str
    kubernetes: str | None
    nodes: int | None
    findings: tuple[Finding, ...]
    differences: tuple[Finding, ...]


class Damage(Finding):
    """A finding of doctor's, which always has its steps, and whether they touch the stack's own objects alone."""

    steps: tuple[Step, ...] = Field(default=(), serialization_alias="mends")
    is_own: bool = Field(default=False, serialization_alias="own")


class Damages(FrozenModel):
    """What doctor found first, what was done, and what is left; `damages` as `differences` above."""

    stack: str
    state_unread: str
    findings: tuple[Damage, ...]
    damages: tuple[Damage, ...]
    mended: tuple[str, ...]
    remaining: tuple[Damage, ...]


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


def preflight_document(stack: str, cluster: Cluster | None, found: Sequence[Finding]) -> Differences:
    """The same for scripts."""
    return Differences(
        stack=stack,
        kubernetes=None if cluster is None else field(cluster.get("/version"), "gitVersion"),
        nodes=None if cluster is None else len(cluster.nodes),
        findings=tuple(found),
        differences=tuple(found),
    )


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
) -> Damages:
    """The same for scripts."""
    first, left = (tuple(Damage.model_construct(**dict(one)) for one in some) for some in (found, remaining))
    return Damages(
        stack=stack, state_unread=unread_state, findings=first, damages=first, mended=tuple(mended), remaining=left
    )
