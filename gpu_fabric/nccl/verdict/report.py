"""The models of a verdict, which are also the output of `gpu-fabric verdict --format json`, and its text form."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from gpu_fabric.findings import Finding
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.busbw import Bar


class RailResult(FrozenModel):
    """One rail by itself, while others were in use; `measured` in GB/s is null if there is no result."""

    rail: int
    measured: float | None
    passed: bool


class Verdict(FrozenModel):
    """The verdict on one run. `measured` is the judged bus bandwidth in GB/s; null if there is none.

    `findings` are the reasons why it fails (errors) and remarks; their path is a node, rail, pair or size. `nodes` and
    `ranks` are those in the file. `bar` is null if the run ended before a bar could be chosen. `rails` are those
    measured by themselves, against `rail_bar`; `point_to_point` has the lowest bandwidth of each rail between two
    nodes, by UCX and against its own bar, if that was asked for.
    """

    schema_version: Literal["v2"] = "v2"
    passed: bool
    bar: Bar | None
    measured: float | None
    size: int | None = Field(description="bytes of the judged row")
    nodes: tuple[str, ...]
    ranks: int
    rail_bar: Bar | None = None
    rails: tuple[RailResult, ...] = ()
    point_to_point_bar: Bar | None = Field(default=None, exclude_if=lambda value: value is None)
    point_to_point: tuple[RailResult, ...] = Field(default=(), exclude_if=operator.not_)
    findings: tuple[Finding, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, given: Any) -> Any:
        """Statements signed before version 2 have `reasons`, and `where` for the path."""
        if not isinstance(given, dict) or not isinstance(given.get("reasons"), list):
            return given
        rest = {key: value for key, value in given.items() if key not in ("reasons", "schemaVersion")}
        return {**rest, "findings": [_renamed(one) if isinstance(one, dict) else one for one in given["reasons"]]}


def _renamed(reason: dict[str, Any]) -> dict[str, Any]:
    return {"path" if key == "where" else key: value for key, value in reason.items()}


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
        yield _rails_line("rails", verdict.rails)
    if verdict.point_to_point_bar is not None:
        bar = verdict.point_to_point_bar
        yield f"bar of a rail between two nodes: {bar.explanation} (source: {bar.source})"
        yield _rails_line("rails between two nodes, by UCX", verdict.point_to_point)
    for found in verdict.findings:
        yield from found.lines()
    yield "passed" if verdict.passed else "failed"


def _rails_line(what: str, rails: tuple[RailResult, ...]) -> str:
    good = sum(rail.passed for rail in rails)
    values = [(rail.measured, rail.rail) for rail in rails if rail.measured is not None]
    slowest = "" if not values else f"; the slowest is rail {min(values)[1]} with {min(values)[0]:.2f} GB/s"
    return f"{what}: {good} of {len(rails)} are as they should be{slowest}"
