"""A finding: one thing a user can fix, and the error that carries a set of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from fabric.model import FrozenModel


class Severity(StrEnum):
    """How much a finding weighs: an error stops `up` and the command line alike."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(FrozenModel):
    """What is wrong, where, and what to write instead.

    `id` is stable across releases. `path` is the dotted path as written in the stack file, such as
    `gpu-fabric:cluster.pools[0].nodes`; empty when the finding is about the stack as a whole.
    """

    id: str
    severity: Severity
    path: str
    message: str
    remedy: str


class ConfigurationError(Exception):
    """The stack's configuration cannot be used; `findings` lists every reason, `file` names what to edit."""

    def __init__(self, findings: Sequence[Finding], file: str) -> None:
        self.findings = tuple(findings)
        self.file = file
        super().__init__(self.explanation())

    def explanation(self) -> str:
        """All problems in one text: a line for the file, then per problem its path, what is wrong and the remedy."""
        count = len(self.findings)
        lines = [f"{self.file}: {count} problem{'s' if count != 1 else ''}, nothing was created."]
        for finding in self.findings:
            lines.append(f"  {finding.path or 'stack'}: {finding.message} [{finding.id}]")
            lines.append(f"      -> {finding.remedy}")
        return "\n".join(lines)


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Only those that stop a run."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
