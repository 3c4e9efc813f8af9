"""What is said about manifests: problems, which refuse them all, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that a user can fix; `document` counts from 1, and is 0 where it is about the whole input.

    `rule` is an id of the rule book, for `python -m fabric explain`.
    """

    rule: str
    document: int
    path: str
    message: str
    remedy: str


class Note(NamedTuple):
    """One thing to know about what was, or was not, attached; places and rules are those of a problem."""

    rule: str
    document: int
    path: str
    message: str

    def __str__(self) -> str:
        """The note as one line: where, what, and its rule."""
        return f"{said_place(self.document, self.path)}: {self.message} [{self.rule}]"


class AttachError(Exception):
    """The fabric cannot be attached; `problems` lists every reason, and nothing was changed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.explanation("manifests"))

    def explanation(self, file: str) -> str:
        """All problems in one text: a line for the file, then per problem its place, what is wrong and the remedy."""
        count = len(self.problems)
        lines = [f"{file}: {count} problem{'s' if count != 1 else ''}, nothing was attached."]
        for problem in self.problems:
            lines.append(f"  {said_place(problem.document, problem.path)}: {problem.message} [{problem.rule}]")
            lines.append(f"      -> {problem.remedy}")
        return "\n".join(lines)


class InputError(Exception):
    """What was handed in cannot be read as manifests, or as a contract; the text says where, why, and the rule."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(f"{message} [{rule}]")


def said_place(document: int, path: str) -> str:
    """A place as a user reads it."""
    where = f"document {document}" if document else "all documents"
    return f"{where}, {path}" if path else where
