"""Problems, any of which refuses all manifests, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that a user can fix; `document` counts from 1, and is 0 for the whole input.

    `rule` is an id of the rule book, for `gpu-fabric explain`.
    """

    rule: str
    document: int
    path: str
    message: str
    remedy: str


class Note(NamedTuple):
    """One fact about what was or was not attached; the fields are those of a problem."""

    rule: str
    document: int
    path: str
    message: str

    def __str__(self) -> str:
        """The note as one line: where, what, and its rule."""
        return f"{said_place(self.document, self.path)}: {self.message} [{self.rule}]"


class AttachError(Exception):
    """The fabric cannot be attached. `problems` lists every reason; nothing was changed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.explanation("manifests"))

    def explanation(self, file: str, done: str = "attached") -> str:
        """All problems as text: a line for the file, then each problem's place, message and remedy."""
        count = len(self.problems)
        lines = [f"{file}: {count} problem{'s' if count != 1 else ''}, nothing was {done}."]
        for problem in self.problems:
            lines.append(f"  {said_place(problem.document, problem.path)}: {problem.message} [{problem.rule}]")
            lines.append(f"      -> {problem.remedy}")
        return "\n".join(lines)


def said_place(document: int, path: str) -> str:
    """A document and path for a message."""
    where = f"document {document}" if document else "all documents"
    return f"{where}, {path}" if path else where
