"""The linter of topology files: how NCCL or RCCL reads a file, and whether that is what the author intended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from gpu_fabric.catalog import Shape
from gpu_fabric.findings import Finding, Severity
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.dialect import Dialect, Library, dialect, dialect_table, library_for
from gpu_fabric.nccl.lint.comparison import PORTABILITY_CHECKS, against_dump, against_shape
from gpu_fabric.nccl.lint.elements import ELEMENT_CHECKS
from gpu_fabric.nccl.lint.file import File, published_for
from gpu_fabric.nccl.lint.form import FORM_CHECKS, explain_rejection
from gpu_fabric.nccl.reader import Reading, read_topology
from gpu_fabric.progress import NO_PROGRESS, Progress

__all__ = ["FileReport", "LintReport", "Linter", "lint_files", "report_lines"]

_CHECKS = (*ELEMENT_CHECKS, *PORTABILITY_CHECKS, against_shape, against_dump)


class FileReport(FrozenModel):
    """One file. `nodes` counts the elements that the library holds after reading it."""

    file: str
    accepted: bool = Field(description="whether the library's reader takes the file to its end")
    nodes: int = Field(ge=0)
    findings: tuple[Finding, ...]


class LintReport(FrozenModel):
    """All files of one run; `nccl` and `shape` are null if none was named."""

    schema_version: Literal["v1"] = "v1"
    library: Library
    nccl: str | None
    newer_than: str | None = Field(default=None, description="the newest release known, if `nccl` is newer than it")
    shape: str | None
    errors: int = Field(ge=0)
    warnings: int = Field(ge=0)
    files: tuple[FileReport, ...]


@dataclass(frozen=True)
class Linter:
    """Lints files for one dialect, and compares them with a shape and with NCCL's dump of a machine if given."""

    dialect: Dialect
    shape: Shape | None = None
    dump: Reading | None = None

    @classmethod
    def of(
        cls,
        library: Library | None = None,
        version: str | None = None,
        shape: Shape | None = None,
        dump: bytes | None = None,
    ) -> Linter:
        """A linter; the default library is that of the shape's GPUs, or NCCL.

        Raises:
            ValueError: the version is not a valid version of NCCL, or the library's reader refuses the dump.
        """
        by = dialect(library or library_for(shape), version)
        read = None if dump is None else read_topology(dump, by)
        if read is not None and (read.rejection is not None or not read.of("system")):
            raise ValueError(f"the dump is not a topology file of {by.name}; write one with NCCL_TOPO_DUMP_FILE")
        return cls(by, shape, read)

    def lint(self, name: str, data: bytes) -> FileReport:
        """Every finding in one file, in the order of its lines; never raises, for any bytes."""
        reading = read_topology(data, self.dialect)
        found = sorted(self._findings(reading), key=lambda each: (each.line or 0, each.id))
        located = tuple(each.model_copy(update={"file": name}) for each in found)
        return FileReport(file=name, accepted=reading.rejection is None, nodes=len(reading.elements), findings=located)

    def _findings(self, reading: Reading) -> Iterator[Finding]:
        if reading.rejection is not None:
            yield explain_rejection(reading, reading.rejection)
            return
        for form_check in FORM_CHECKS:
            yield from form_check(reading)
        if reading.of("system"):
            file = File(reading, self.shape, published_for(self.shape, reading), self.dump)
            for check in _CHECKS:
                yield from check(file)


def lint_files(files: Mapping[str, bytes], linter: Linter, progress: Progress = NO_PROGRESS) -> LintReport:
    """The report on several files, by name."""
    reports = tuple(linter.lint(name, data) for name, data in progress.each("judging", files.items(), "files"))
    severities = [found.severity for report in reports for found in report.findings]
    version = linter.dialect.version
    return LintReport(
        library=linter.dialect.library,
        nccl=None if version is None else str(version),
        newer_than=None if linter.dialect.is_known else str(dialect_table().newest),
        shape=None if linter.shape is None else linter.shape.name,
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        files=reports,
    )


def report_lines(report: LintReport) -> Iterator[str]:
    """The report as text: what is not known of the release, each finding with its remedy, then the totals."""
    if report.newer_than is not None:
        yield (
            f"note: {report.library.upper()} {report.nccl} is newer than this program's facts, which end with "
            f"{report.newer_than}; of NCCL 2.31 it knows the state of June 2026, before its release"
        )
    for file in report.files:
        for found in file.findings:
            yield from found.lines()
    counts = [(len(report.files), "file"), (report.errors, "error"), (report.warnings, "warning")]
    files, *found_lines = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    yield f"{files}: {', '.join(found_lines) if report.errors or report.warnings else 'no findings'}"
