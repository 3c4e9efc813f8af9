"""The linter of topology files: how NCCL or RCCL reads a file, and whether that is what the author intended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .comparison import PORTABILITY_CHECKS, against_dump, against_machine
from .dialect import Dialect, Library, dialect, dialect_table, library_of
from .elements import ELEMENT_CHECKS
from .file import File, published_for
from .form import FORM_CHECKS, explain_rejection
from .machine import Machine
from .problem import Problem
from .reader import Reading, read_topology

_CHECKS = (*ELEMENT_CHECKS, *PORTABILITY_CHECKS, against_machine, against_dump)
_MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class FileReport:
    """One file. `accepted` is whether the library's reader takes it to its end.

    `nodes` counts the elements that the library holds after reading it.
    """

    file: str
    accepted: bool
    nodes: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Linter:
    """Lints files for one dialect, and compares them with a machine and with NCCL's dump of a machine if given.

    `known` are machines that a file may be for: one with exactly their addresses may hold what is published for them.
    """

    dialect: Dialect
    machine: Machine | None = None
    dump: Reading | None = None
    known: tuple[Machine, ...] = ()

    @classmethod
    def of(
        cls,
        library: Library | None = None,
        version: str | None = None,
        machine: Machine | None = None,
        dump: bytes | None = None,
        known: Iterable[Machine] = (),
    ) -> Linter:
        """A linter; the default library is that of the machine's GPUs, or NCCL.

        Raises:
            ValueError: the version is not a valid version of NCCL, or the library's reader refuses the dump.
        """
        by = dialect(library or library_of(None if machine is None else machine.vendor), version)
        read = None if dump is None else read_topology(dump, by)
        if read is not None and (read.rejection is not None or not read.of("system")):
            raise ValueError(f"the dump is not a topology file of {by.name}; write one with NCCL_TOPO_DUMP_FILE")
        return cls(by, machine, read, tuple(known))

    def lint(self, name: str, data: bytes) -> FileReport:
        """Every problem of one file, in the order of its lines; never raises, for any bytes."""
        reading = read_topology(data, self.dialect)
        found = sorted(self._problems(reading), key=lambda each: (each.line, each.rule))
        return FileReport(name, reading.rejection is None, len(reading.elements), tuple(found))

    def _problems(self, reading: Reading) -> Iterator[Problem]:
        if reading.rejection is not None:
            yield explain_rejection(reading, reading.rejection)
            return
        for form_check in FORM_CHECKS:
            yield from form_check(reading)
        if reading.of("system"):
            published = published_for(self.machine, self.known, reading)
            file = File(reading, self.machine, published, self.dump)
            for check in _CHECKS:
                yield from check(file)


def text_of(file: str, problem: Problem) -> Iterator[str]:
    """A problem as text: its place, severity and rule with the message; then the remedy."""
    yield f"{file}:{problem.line}: {problem.severity} {problem.rule}: {_printable(problem.message)}"
    yield f"    -> {_printable(problem.remedy)}"


def value_of(file: str, problem: Problem) -> dict[str, Any]:
    """A problem in JSON."""
    texts = {"message": problem.message, "remedy": problem.remedy}
    return {"id": problem.rule, "severity": problem.severity, "path": "", **texts, "file": file, "line": problem.line}


def _printable(text: str) -> str:
    safe = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return safe if len(safe) <= _MOST_CHARACTERS else f"{safe[:_MOST_CHARACTERS]}… ({len(safe)} characters)"


@dataclass(frozen=True)
class LintReport:
    """All files of one run."""

    linter: Linter
    files: tuple[FileReport, ...]

    @classmethod
    def of(cls, linter: Linter, files: Iterable[tuple[str, bytes]]) -> LintReport:
        """The report on several files, each with its name."""
        return cls(linter, tuple(linter.lint(name, data) for name, data in files))

    def count(self, severity: str) -> int:
        """How many problems have a severity."""
        return [problem.severity for file in self.files for problem in file.problems].count(severity)

    @property
    def newer_than(self) -> str | None:
        """The newest release known, if the one named is newer than it."""
        return None if self.linter.dialect.is_known else dialect_table().newest

    def lines(self, text: Callable[[str, Problem], Iterable[str]] = text_of) -> Iterator[str]:
        """The report as text: what is not known of the release, each problem as `text` has it, then the totals."""
        by = self.linter.dialect
        if self.newer_than is not None:
            yield (
                f"note: {by.name} {by.version} is newer than this program's facts, which end with {self.newer_than}; "
                "of NCCL 2.31 it knows the state of June 2026, before its release"
            )
        for file in self.files:
            for problem in file.problems:
                yield from text(file.file, problem)
        counts = [(len(self.files), "file"), (self.count("error"), "error"), (self.count("warning"), "warning")]
        files, *found = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
        yield f"{files}: {', '.join(found) if any(file.problems for file in self.files) else 'no findings'}"

    def value(self, problem_value: Callable[[str, Problem], Any] = value_of) -> dict[str, Any]:
        """The report in JSON, each problem as `problem_value` has it; `nccl` and `shape` are null if none was named."""
        return {
            "schemaVersion": "v1",
            "library": self.linter.dialect.library.value,
            "nccl": self.linter.dialect.version,
            "newerThan": self.newer_than,
            "shape": None if self.linter.machine is None else self.linter.machine.name,
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "files": [
                {
                    "file": file.file,
                    "accepted": file.accepted,
                    "nodes": file.nodes,
                    "findings": [problem_value(file.file, problem) for problem in file.problems],
                }
                for file in self.files
            ],
        }
