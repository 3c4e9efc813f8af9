"""A finding: one problem that a user can fix, and the error that holds all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from gpu_fabric.model import FrozenModel

MOST_SHOWN = 100
"""Limit of the findings in a text; more do not fit into a comment of a pull request."""
MOST_CHARACTERS = 2000
"""Limit of the length of a finding's text."""


class Severity(StrEnum):
    """The severity of a finding: an error stops both `up` and the command line."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(FrozenModel):
    """A problem, its place, and the remedy.

    `id` is stable across releases. `path` is the dotted path as written in the stack file, such as
    `gpu-fabric:cluster.pools[0].nodes`; empty if the finding is about the stack as a whole.
    """

    id: str
    severity: Severity
    path: str
    message: str
    remedy: str


class LocatedFinding(Finding):
    """A finding with file, line and column; line and column are None if it is about the stack as a whole."""

    file: str = ""
    line: int | None = None
    column: int | None = None


class Place(NamedTuple):
    """A position in a file; line and column count from 1."""

    line: int
    column: int


class ConfigurationError(Exception):
    """The stack's configuration is invalid; `findings` lists every reason, `file` names the file to edit.

    `places` has the positions in the file by dotted path; the empty path has the position where parsing ended.
    """

    def __init__(self, findings: Sequence[Finding], file: str, places: Mapping[str, Place] | None = None) -> None:
        self.findings = tuple(findings)
        self.file = file
        self.places = places or {}
        super().__init__(self.explanation())

    def place(self, path: str) -> Place | None:
        """The position of a path's key or entry; for a missing one, that of the nearest enclosing value."""
        while path and path not in self.places and " " not in path:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get(path)

    def explanation(self) -> str:
        """All problems in one text: a line for the file, then each problem with its place and remedy."""
        count = len(self.findings)
        lines = [f"{self.file}: {count} problem{'s' if count != 1 else ''}, nothing was created."]
        for finding in self.findings[:MOST_SHOWN]:
            place = self.place(finding.path)
            where = "" if place is None else f"{self.file}:{place.line}:{place.column}: "
            lines.append(f"  {where}{escaped(finding.path) or 'stack'}: {escaped(finding.message)} [{finding.id}]")
            lines.append(f"      -> {escaped(finding.remedy)}")
        if count > MOST_SHOWN:
            lines.append(f"  and {count - MOST_SHOWN} more; `plan --format json` lists them all")
        return "\n".join(lines)

    @property
    def located(self) -> tuple[LocatedFinding, ...]:
        """All findings with their positions: for scripts, editors and annotations of a pull request."""
        positions = ((finding, self.place(finding.path)) for finding in self.findings)
        return tuple(
            LocatedFinding(**{**dict(finding), "file": self.file, **(place._asdict() if place else {})})
            for finding, place in positions
        )


class InputError(Exception):
    """An input is not valid as manifests or as a contract; the text has the place, the reason and the rule."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        self.message = message
        super().__init__(f"{message} [{rule}]")


def escaped(text: str) -> str:
    """A text of a stack file for a terminal: control characters are escaped, and long texts shortened."""
    safe = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
    return safe if len(safe) <= MOST_CHARACTERS else f"{safe[:MOST_CHARACTERS]}… ({len(safe)} characters)"


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings of severity error, which stop a run."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
