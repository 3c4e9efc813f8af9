"""The rule book: each rule's title, reason and source (`rules/book/*.yaml`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gpu_fabric.base.tables import read_table
from gpu_fabric.findings.finding import Finding, Seen, Severity, Step
from gpu_fabric.model import FrozenModel

Stage = Literal["reading", "spec", "plan"]
Phase = Literal["before", "after", "damage"]
"""When a fact of a live cluster is judged: before `up`, after it, and as a damage that a run or an operator left."""

# Of the groups about live clusters; a row says so where its rule counts in others too.
_PHASES: dict[str, tuple[Phase, ...]] = {"preflight": ("before",), "drift": ("after",), "doctor": ("damage",)}
_RULES = Path(__file__).parents[1] / "rules"


class Rule(FrozenModel):
    """One row of the rule book.

    The rule is checked at its `stage`: while the file is read, on the spec, or on the finished plan. `group` is the
    name of its file in the book. `message` and `remedy` are those of its findings, where they are the same for every
    stack; elsewhere they are empty, and the check writes them. `phases` are those in which a fact of a live cluster
    counts. `formerly` has other ids that the rule had in earlier releases.
    """

    id: str = Field(pattern=r"^[A-Z]{3}[0-9]{3}$")
    group: str
    severity: Severity
    stage: Stage
    title: str
    why: str
    source: str
    message: str = ""
    remedy: str = ""
    phases: tuple[Phase, ...] = ()
    formerly: tuple[str, ...] = ()


class Example(FrozenModel):
    """An example for readers: the keys that a rule checks, and changes of a stack for which it reports a finding."""

    keys: tuple[str, ...]
    stack: str = ""
    refused: dict[str, Any] = {}


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, group by group."""
    found: dict[str, Rule] = {}
    for path in sorted((_RULES / "book").glob("*.yaml")):
        for name, row in read_table(path).items():
            if name in found:
                raise ValueError(f"two rules have the id {name}: in {found[name].group} and {path.stem}")
            row.setdefault("phases", _PHASES.get(path.stem, ()))
            found[name] = Rule.model_validate({"id": name, "group": path.stem, **row})
    return found


@cache
def former_ids() -> dict[str, str]:
    """The present id of a rule by an id that it had in an earlier release."""
    return {former: rule.id for rule in rules().values() for former in rule.formerly}


@cache
def examples() -> dict[str, Example]:
    """An example for each rule that is checked on a spec or a plan, by the rule's id."""
    table = read_table(_RULES / "examples.yaml")
    return {name: Example.model_validate(row) for name, row in table.items()}


@cache
def groups() -> dict[str, str]:
    """The subject of each group: the first line, a comment, of its file in the book."""
    files = sorted((_RULES / "book").glob("*.yaml"))
    return {path.stem: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in files}


def finding(
    rule: str,
    path: str = "",
    message: str = "",
    remedy: str = "",
    *,
    line: int | None = None,
    document: int = 0,
    seen: Seen | Sequence[Seen] = (),
    steps: Sequence[Step] = (),
    is_own: bool = False,
) -> Finding:
    """A finding of a rule in the book, with the rule's severity, and with the rule's texts where none are given.

    Raises:
        KeyError: the book has no rule with that id.
    """
    row = rules()[rule]
    return Finding(
        id=rule,
        severity=row.severity,
        path=path,
        message=message or row.message,
        remedy=remedy or row.remedy,
        line=line,
        document=document,
        seen=(seen,) if isinstance(seen, Seen) else tuple(seen),
        steps=tuple(steps),
        is_own=is_own,
    )
