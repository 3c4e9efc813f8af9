"""What the linter says of topology files; also the form of `fabric lint --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from fabric.model import FrozenModel
from fabric.nccl.dialect import Library
from fabric.rules import Severity, rules


class LineFinding(FrozenModel):
    """What is wrong on a line of a file, and what to write instead."""

    id: str = Field(description="rule; `python -m fabric explain ID` says more")
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
    """All files of one run; `nccl` and `shape` are null where none was named."""

    schema_version: Literal["v1"] = "v1"
    library: Library
    nccl: str | None
    shape: str | None
    errors: int = Field(ge=0)
    warnings: int = Field(ge=0)
    files: tuple[FileReport, ...]


def finding(rule: str, line: int, message: str, remedy: str) -> LineFinding:
    """A finding of a rule in the book; its severity is the rule's.

    Raises:
        KeyError: no rule has that id.
    """
    return LineFinding(id=rule, severity=rules()[rule].severity, line=line, message=message, remedy=remedy)


def report_lines(report: LintReport) -> Iterator[str]:
    """The report for people: each finding with its remedy, then what there was to see."""
    for file in report.files:
        for found in file.findings:
            yield f"{file.file}:{found.line}: {found.severity} {found.id}: {found.message}"
            yield f"    -> {found.remedy}"
    counts = [(len(report.files), "file"), (report.errors, "error"), (report.warnings, "warning")]
    files, *found_lines = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    yield f"{files}: {', '.join(found_lines) if report.errors or report.warnings else 'no findings'}"


def shown(text: str) -> str:
    """A name or value of a file in quotes: plain ASCII, on one line, and no longer than a person reads."""
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")
