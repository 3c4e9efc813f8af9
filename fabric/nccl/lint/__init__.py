"""The linter of topology files: what NCCL or RCCL makes of a file, and whether that is what its writer meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabric.catalog import Shape
from fabric.nccl.dialect import Dialect, Library, dialect, library_for
from fabric.nccl.lint.against_dump import against_dump
from fabric.nccl.lint.against_shape import against_shape
from fabric.nccl.lint.cpus import cpus
from fabric.nccl.lint.file import File, published_for
from fabric.nccl.lint.links import links
from fabric.nccl.lint.pci import pci
from fabric.nccl.lint.portability import portability
from fabric.nccl.lint.rejections import rejected
from fabric.nccl.lint.report import FileReport, LineFinding, LintReport, report_lines
from fabric.nccl.lint.writing import written
from fabric.nccl.reader import read_topology
from fabric.nccl.reading import Reading
from fabric.progress import UNHEARD, Progress
from fabric.rules import Severity

__all__ = ["FileReport", "LineFinding", "LintReport", "Linter", "lint_files", "report_lines"]

_CHECKS = (cpus, pci, links, portability, against_shape, against_dump)


@dataclass(frozen=True)
class Linter:
    """Judges files by one dialect; against a shape, and against NCCL's dump of a machine, where they are given."""

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
        """A linter; without a library, that of the shape's GPUs, or NCCL.

        Raises:
            ValueError: the version is none of NCCL's, or the library's reader does not take the dump.
        """
        by = dialect(library or library_for(shape), version)
        read = None if dump is None else read_topology(dump, by)
        if read is not None and (read.rejection is not None or not read.of("system")):
            raise ValueError(f"the dump is no topology file of {by.name}; write one with NCCL_TOPO_DUMP_FILE")
        return cls(by, shape, read)

    def lint(self, name: str, data: bytes) -> FileReport:
        """Everything wrong with one file, in the order of its lines; never raises, whatever the bytes."""
        reading = read_topology(data, self.dialect)
        found = sorted(self._findings(reading), key=lambda each: (each.line, each.id))
        accepted = reading.rejection is None
        return FileReport(file=name, accepted=accepted, nodes=len(reading.elements), findings=tuple(found))

    def _findings(self, reading: Reading) -> Iterator[LineFinding]:
        if reading.rejection is not None:
            yield rejected(reading, reading.rejection)
            return
        yield from written(reading)
        if reading.of("system"):
            file = File(reading, self.shape, published_for(self.shape, reading), self.dump)
            for check in _CHECKS:
                yield from check(file)


def lint_files(files: Mapping[str, bytes], linter: Linter, progress: Progress = UNHEARD) -> LintReport:
    """The report on several files, by name."""
    reports = tuple(linter.lint(name, data) for name, data in progress.each("judging", files.items(), "files"))
    severities = [found.severity for report in reports for found in report.findings]
    version = linter.dialect.version
    return LintReport(
        library=linter.dialect.library,
        nccl=None if version is None else str(version),
        shape=None if linter.shape is None else linter.shape.name,
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        files=reports,
    )
