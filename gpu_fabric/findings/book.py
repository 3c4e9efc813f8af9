"""The rule book: each rule's title, reason and source (`rules/book/*.yaml`, and the linter's rows)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gpu_fabric.base.tables import read_table
from gpu_fabric.findings.finding import Finding, Seen, Severity, Step
from gpu_fabric.model import FrozenModel
from nccl_topology.problem import RULES as RULES_OF_TOPOLOGY

Stage = Literal[
    "reading",
    "spec",
    "plan",
    "plan --as",
    "diff",
    "attach",
    "krm",
    "lint",
    "image-check",
    "verdict",
    "preflight",
    "drift",
    "doctor",
]
"""Where a rule is checked: on a stack file while it is read, on its spec, on its plan; else by the command named."""

# The stage of the rules of a file of the book, by its name, where a row has no other; else `spec`.
_STAGES = {"guard": "diff", "topology": "lint", "image_check": "image-check"}
_STAGES |= {name: name for name in ("reading", "attach", "verdict", "preflight", "drift", "doctor")}
Phase = Literal["before", "after", "damage"]
"""When a fact of a live cluster is judged: before `up`, after it, and as a damage that a run or an operator left."""

# Of the groups about live clusters; a row says so where its rule counts in others too.
_PHASES: dict[str, tuple[Phase, ...]] = {"preflight": ("before",), "drift": ("after",), "doctor": ("damage",)}
_COMMANDS: dict[Phase, str] = {"before": "preflight", "after": "drift", "damage": "doctor"}
_RULES = Path(__file__).parents[1] / "rules"


class Rule(FrozenModel):
    """One row of the rule book.

    The rule is checked at its `stage`. `group` is the name of its file in the book. `message` and `remedy` are those of
    its findings, where they are the same for every stack; elsewhere they are empty, and the check writes them.
    `phases` are those in which a fact of a live cluster counts. `formerly` has other ids that the rule had in earlier
    releases.
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

    @property
    def is_of_a_file(self) -> bool:
        """Whether it is about a stack file alone: as it is read, in its spec or in its plan."""
        return self.stage == "reading" or self.is_of_stacks

    @property
    def is_of_stacks(self) -> bool:
        """Whether a check of `rules/checks` finds it, in a spec or in a plan."""
        return self.stage in ("spec", "plan")

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that find it."""
        names = [_COMMANDS[phase] for phase in self.phases]
        return tuple(f"gpu-fabric {name}" for name in names or ["plan" if self.is_of_a_file else self.stage])


class Example(FrozenModel):
    """An example for readers: the keys that a rule checks, and changes of a stack for which it reports a finding."""

    keys: tuple[str, ...]
    stack: str = ""
    refused: dict[str, Any] = {}


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, group by group.

    Raises:
        ValueError: two rules have the same id.
    """
    found: dict[str, Rule] = {}
    for group, path in _files().items():
        for name, row in read_table(path).items():
            if name in found:
                raise ValueError(f"two rules have the id {name}: in {found[name].group} and {group}")
            of_group = {"stage": _STAGES.get(group, "spec"), "phases": _PHASES.get(group, ())}
            found[name] = Rule.model_validate({"id": name, "group": group, **of_group, **row})
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
    files = _files().items()
    return {group: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for group, path in files}


def _files() -> dict[str, Path]:
    """The files of the book by group, in the order of their names."""
    files = {path.stem: path for path in (_RULES / "book").glob("*.yaml")}
    return dict(sorted((files | {"topology": RULES_OF_TOPOLOGY}).items()))


def finding(
    rule: str,
    place: str | int = "",
    message: str = "",
    remedy: str = "",
    *,
    document: int = 0,
    seen: Seen | Sequence[Seen] = (),
    steps: Sequence[Step] = (),
    is_own: bool = False,
) -> Finding:
    """A finding of a rule in the book, with the rule's severity, and with the rule's texts where none are given.

    `place` is a path, or the number of a line.

    Raises:
        KeyError: the book has no rule with that id.
    """
    row = rules()[rule]
    return Finding(
        id=rule,
        severity=row.severity,
        path=place if isinstance(place, str) else "",
        message=message or row.message,
        remedy=remedy or row.remedy,
        line=place if isinstance(place, int) else None,
        document=document,
        seen=(seen,) if isinstance(seen, Seen) else tuple(seen),
        steps=tuple(steps),
        is_own=is_own,
    )


class InputError(Exception):
    """An input is not valid as manifests or as a contract; the message of its finding has the place and the reason."""

    def __init__(self, rule: str, message: str) -> None:
        self.finding = finding(rule, message=message)
        super().__init__(self.finding.text)
