"""The rule book: `rules.yaml`, read once, and the one way to make a finding."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from fabric.model import FrozenModel
from fabric.rules.finding import Finding, Severity


class Rule(FrozenModel):
    """One row of the rule book."""

    id: str
    severity: Severity
    title: str
    why: str


@cache
def rules() -> dict[str, Rule]:
    """All rules by id."""
    rows = yaml.safe_load((Path(__file__).parent / "rules.yaml").read_text(encoding="utf-8"))
    return {name: Rule.model_validate({"id": name, **row}) for name, row in rows.items()}


def finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    """A finding of a rule in the book; its severity is the rule's.

    Raises:
        KeyError: no rule has that id.
    """
    return Finding(id=rule, severity=rules()[rule].severity, path=path, message=message, remedy=remedy)
