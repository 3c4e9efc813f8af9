"""The models of a verdict, which are also the output of `gpu-fabric verdict --json`, and its text form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpu_fabric.findings import Severity, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.busbw import Bar


class Reason(FrozenModel):
    """One reason why a result fails (error), or a remark (warning). `where` names a node, rail, pair or size."""

    id: str = Field(description="rule; `gpu-fabric explain ID` says more")
    severity: Severity
    where: str
    message: str
    remedy: str


class RailResult(FrozenModel):
    """One rail by itself, while others were in use; `measured` in GB/s is null if there is no result."""

    rail: int
    measured: float | None
    passed: bool


class Verdict(FrozenModel):
    """The verdict on one run. `measured` is the judged bus bandwidth in GB/s; null if there is none.

    `nodes` and `ranks` are those in the file. `bar` is null if the run ended before a bar could be chosen. `rails` are
    those measured by themselves, against `rail_bar`.
    """

    schema_version: Literal["v1"] = "v1"
    passed: bool
    bar: Bar | None
    measured: float | None
    size: int | None = Field(description="bytes of the judged row")
    nodes: tuple[str, ...]
    ranks: int
    rail_bar: Bar | None = None
    rails: tuple[RailResult, ...] = ()
    reasons: tuple[Reason, ...]


def finding(rule: str, where: str, message: str, remedy: str) -> Reason:
    """A reason of a rule in the book; its severity is the rule's."""
    return Reason(id=rule, severity=rules()[rule].severity, where=where, message=message, remedy=remedy)


def printable(text: str) -> str:
    """A text of the file for a message: plain ASCII, on one line, and shortened."""
    return _ascii(text, 60)


def printable_line(text: str) -> str:
    """The whole text of a line of the log: of NCCL's, which has at most about 1,023 bytes up to its release 2.28."""
    return _ascii(text, 2000)


def _ascii(text: str, most: int) -> str:
    return ascii(text if len(text) <= most else f"{text[: most - 3]}...")[1:-1]


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """The verdict as text: the bar and its source, the measurement, then each reason with its remedy."""
    if verdict.bar is not None:
        yield f"bar: {verdict.bar.explanation} (source: {verdict.bar.source})"
    if verdict.measured is not None:
        run = f"{len(verdict.nodes)} nodes, {verdict.ranks} ranks, {verdict.size} bytes"
        yield f"measured: {verdict.measured:.2f} GB/s ({run})"
    if verdict.rail_bar is not None:
        yield f"bar of a rail: {verdict.rail_bar.explanation}"
        yield _rails_line(verdict.rails)
    for reason in verdict.reasons:
        yield f"{reason.severity} {reason.id}: {reason.where}: {reason.message}"
        yield f"    -> {reason.remedy}"
    yield "passed" if verdict.passed else "failed"


def _rails_line(rails: tuple[RailResult, ...]) -> str:
    good = sum(rail.passed for rail in rails)
    values = [(rail.measured, rail.rail) for rail in rails if rail.measured is not None]
    slowest = "" if not values else f"; the slowest is rail {min(values)[1]} with {min(values)[0]:.2f} GB/s"
    return f"rails: {good} of {len(rails)} are as they should be{slowest}"
