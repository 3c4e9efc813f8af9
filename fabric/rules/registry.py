"""The one registry of rules: what each says and why (`book/*.yaml`), and the function that checks it (`checks/`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from fabric.model import FrozenModel
from fabric.rules.finding import Finding, Severity
from fabric.tables import read_table

if TYPE_CHECKING:
    from fabric.plan.case import Case

Stage = Literal["reading", "spec", "plan"]


class Rule(FrozenModel):
    """One row of the rule book.

    `stage` says when it is checked: while the file is read, on the spec, or on the finished plan. `group` is the file
    of the book that holds it.
    """

    id: str = Field(pattern=r"^[A-Z]{3}\d{3}$")
    group: str
    severity: Severity
    stage: Stage
    title: str
    why: str
    source: str


class Problem(NamedTuple):
    """What a check found: the dotted path in the stack file, what is wrong, and what to write instead."""

    path: str
    message: str
    remedy: str


Check = Callable[["Case"], Iterator[Problem]]

_CHECKS: dict[str, Check] = {}


def check(rule: str) -> Callable[[Check], Check]:
    """Make a function the check of a rule of the book.

    Raises:
        KeyError: the book has no such rule, or the rule has a check already.
    """
    if rules()[rule].stage == "reading" or rule in _CHECKS:
        raise KeyError(f"{rule} is checked elsewhere")

    def register(function: Check) -> Check:
        _CHECKS[rule] = function
        return function

    return register


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, group by group."""
    found: dict[str, Rule] = {}
    for path in sorted((Path(__file__).parent / "book").glob("*.yaml")):
        for name, row in read_table(path).items():
            if name in found:
                raise ValueError(f"two rules have the id {name}: in {found[name].group} and {path.stem}")
            found[name] = Rule.model_validate({"id": name, "group": path.stem, **row})
    return found


@cache
def groups() -> dict[str, str]:
    """What each file of the book is about, by group: its first line, a comment."""
    files = sorted((Path(__file__).parent / "book").glob("*.yaml"))
    return {path.stem: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in files}


def promise(rule: str) -> str | None:
    """What holds where the rule finds nothing, in its check's own words; None for rules checked while reading.

    Raises:
        KeyError: no rule has that id.
    """
    if rules()[rule].stage == "reading":
        return None
    import fabric.rules.checks  # noqa: F401  # as in `findings`

    return (_CHECKS[rule].__doc__ or "").partition("\n")[0] or None


def finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    """A finding of a rule in the book; its severity is the rule's.

    Raises:
        KeyError: no rule has that id.
    """
    return Finding(id=rule, severity=rules()[rule].severity, path=path, message=message, remedy=remedy)


def findings(case: Case, stage: Stage) -> tuple[Finding, ...]:
    """What the checks of one stage find, in the order of the book."""
    import fabric.rules.checks  # noqa: F401  # registers the checks, which look at plans and so cannot come first

    return tuple(
        finding(name, *problem)
        for name, rule in rules().items()
        if rule.stage == stage
        for problem in _CHECKS[name](case)
    )


def checked() -> frozenset[str]:
    """Ids of the rules that have a function."""
    import fabric.rules.checks  # noqa: F401  # as in `findings`

    return frozenset(_CHECKS)
