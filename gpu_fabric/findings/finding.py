"""A finding: one problem that a user can fix, and the error that holds all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import not_
from typing import NamedTuple

from pydantic import Field, field_serializer

from gpu_fabric.base.enumeration import quantity
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


class Seen(FrozenModel):
    """What was read in a cluster: an object as `Kind namespace/name`, its field as a dotted path, and the value."""

    object: str
    field: str = ""
    value: str

    def __str__(self) -> str:
        """The same as text."""
        return f"{self.object}, {self.field}: {self.value}" if self.field else f"{self.object}: {self.value}"


class Step(FrozenModel):
    """A step that mends what was found, in words; what it does is in the class of each kind."""

    words: str


class Finding(FrozenModel):
    """A problem or a remark, its place, and the remedy.

    `id` is the rule's, and stable across releases. `path` is the place: a dotted path as written in the stack file,
    such as `gpu-fabric:cluster.pools[0].nodes`, or in a manifest; a node or a rail of a measurement; empty for the
    whole. `document` counts from 1 in a file of several. `seen` is the evidence, where a cluster was read. `steps` mend
    it; `remedy` is the way by hand. `is_own` is whether the steps touch the stack's own objects alone.

    In JSON, a field after the first five is left out where it is empty.
    """

    id: str = Field(description="rule; `gpu-fabric explain ID` says more")
    severity: Severity
    path: str = ""
    message: str
    remedy: str = ""
    file: str = Field(default="", exclude_if=not_)
    line: int | None = Field(default=None, ge=1, exclude_if=not_)
    column: int | None = Field(default=None, ge=1, exclude_if=not_)
    document: int = Field(default=0, exclude_if=not_)
    seen: tuple[Seen, ...] = Field(default=(), exclude_if=not_)
    steps: tuple[Step, ...] = Field(default=(), serialization_alias="mends", exclude_if=not_)
    is_own: bool = Field(default=False, serialization_alias="own", exclude_if=not_)

    @field_serializer("steps")
    def _words(self, steps: tuple[Step, ...]) -> list[str]:
        return [step.words for step in steps]

    @property
    def place(self) -> str:
        """The place in the document, as text."""
        within = f"document {self.document}" if self.document else ""
        return ", ".join(filter(None, (within, self.path)))

    @property
    def text(self) -> str:
        """The finding without its remedy, on one line: position, severity, rule, place, message."""
        position = f"{self.file}:{self.line}:{f'{self.column}:' if self.column else ''} " if self.line else ""
        return f"{position}{self.severity} {self._said}"

    @property
    def one_line(self) -> str:
        """Rule, place, message and remedy on one line, for a log that has severities of its own."""
        return f"{self._said} -> {escaped(self.remedy)}"

    @property
    def _said(self) -> str:
        return f"{' '.join(filter(None, (self.id, escaped(self.place))))}: {escaped(self.message)}"

    def lines(self, indent: str = "") -> Iterator[str]:
        """The whole finding as text: its line, what was seen, what mends it, what to do by hand."""
        yield indent + self.text
        yield from (f"{indent}    seen: {escaped(str(seen))}" for seen in self.seen)
        yield from (f"{indent}    mends it: {escaped(step.words)}" for step in self.steps)
        if self.steps and not self.is_own:
            yield f"{indent}    not of this stack alone, so only after a question; by hand: {escaped(self.remedy)}"
        elif self.remedy and not self.steps:
            yield f"{indent}    -> {escaped(self.remedy)}"


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
        return refusal(self.located, self.file, "created", "; `plan --format json` lists them all")

    @property
    def located(self) -> tuple[Finding, ...]:
        """All findings with their positions: for scripts, editors and annotations of a pull request."""
        positions = ((finding, self.place(finding.path)) for finding in self.findings)
        return tuple(
            finding.model_copy(update={"file": self.file, **(place._asdict() if place else {})})
            for finding, place in positions
        )


def refusal(findings: Sequence[Finding], file: str, done: str, where_all_are: str = "") -> str:
    """Why nothing was done, as text: a line for the file, then each finding."""
    count = len(findings)
    lines = [f"{file}: {quantity(count, 'problem')}, nothing was {done}."]
    lines += (line for finding in findings[:MOST_SHOWN] for line in finding.lines("  "))
    more = [f"  and {count - MOST_SHOWN} more{where_all_are}"] if count > MOST_SHOWN else []
    return "\n".join(lines + more)


def escaped(text: str) -> str:
    """A text of a stack file for a terminal: control characters are escaped, and long texts shortened."""
    safe = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
    return safe if len(safe) <= MOST_CHARACTERS else f"{safe[:MOST_CHARACTERS]}… ({len(safe)} characters)"


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings of severity error, which stop a run."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
