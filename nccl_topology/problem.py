"""What the linter says of a file: the rule that is broken, where, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

RULES = Path(__file__).with_name("rules.toml")


@dataclass(frozen=True)
class Rule:
    """One row of `rules.toml`; the severity is `error` or `warning`."""

    severity: str
    title: str
    why: str
    source: str


@cache
def rules() -> dict[str, Rule]:
    """All rules by id."""
    # Here, since a program may take the place of the rules alone.
    import tomllib

    return {name: Rule(**row) for name, row in tomllib.loads(RULES.read_text(encoding="utf-8")).items()}


class Problem(NamedTuple):
    """A line of a file that breaks a rule; message and remedy may have characters of the file."""

    rule: str
    line: int
    message: str
    remedy: str

    @property
    def severity(self) -> str:
        """That of the rule."""
        return rules()[self.rule].severity
