"""The models of a lint report, which are also the output of `gpu-fabric lint --json`, and its text form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpu_fabric.findings import Severity, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.dialect import Library


class LineFinding(FrozenModel):
    """A problem on a line of a file, and the remedy."""

    id: str = Field(description="rule; `gpu-fabric explain ID` says more")
    severity: Severity
    line: int = Field(ge=1, description="line of the file, from 1")
    message: str
    remedy: str


class FileReport(FrozenModel):
    """One file. `nodes` counts the elements that the library holds after reading it."""

    file: str
    accepted: bool = Field(description="whether the library's reader takes the file to its end")
    nodes: int = Field(ge=0)
    findings: tuple[LineFinding, ...]


class LintReport(FrozenModel):
    """All files of one run; `nccl` and `shape` are null if none was named."""

    schema_version: Literal["v1"] = "v1"
    library: Library
    nccl: str | None
    shape: str | None
    errors: int = Field(ge=0)
    warnings: int = Field(ge=0)
    files: tuple[FileReport, ...]


def finding(rule: str, line: int, message: str, remedy: str) -> LineFinding:
    """A finding of a rule in the book; its severity is the rule's."""
    return LineFinding(id=rule, severity=rules()[rule].severity, line=line, message=message, remedy=remedy)


def report_lines(report: LintReport) -> Iterator[str]:
    """The report as text: each finding with its remedy, then the totals."""
    for file in report.files:
        for found in file.findings:
            yield f"{file.file}:{found.line}: {found.severity} {found.id}: {found.message}"
            yield f"    -> {found.remedy}"
    counts = [(len(report.files), "file"), (report.errors, "error"), (report.warnings, "warning")]
    files, *found_lines = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    yield f"{files}: {', '.join(found_lines) if report.errors or report.warnings else 'no findings'}"


def quote(text: str) -> str:
    """A name or value of a file for a message, in quotes: plain ASCII, on one line, and shortened."""
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")
