"""A good, a bad and an irrelevant case for every rule that looks at a stack: one table for each group of rules.

A row is a committed stack, by `good`, `bad` or `irrelevant`, `with` values that are changed. `plan` is a function of
`rules.alterations`, alone or with its arguments, that alters the plan before a rule looks at it. `at` is where a rule
finds something in a bad case: without it at the last key that is changed, and what begins with a dot or a bracket is
below that key. `!repeated [TEXT, TIMES]` is a long text, `!numbered [TEXT, COUNT]` texts that end with 0 and so on.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from program_lists import MODELS

from rules import alterations
from rules.cases import claims
from rules.tables import Alteration, RuleCase, bad


class _Rows(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The rows of a table."""


def _repeated(rows: _Rows, node: yaml.SequenceNode) -> str:
    text, times = rows.construct_sequence(node)
    return str(text * times)


def _numbered(rows: _Rows, node: yaml.SequenceNode) -> list[str]:
    text, count = rows.construct_sequence(node)
    return [f"{text}{number}" for number in range(count)]


_Rows.add_constructor("!repeated", _repeated)
_Rows.add_constructor("!numbered", _numbered)


@cache
def every_case() -> tuple[RuleCase, ...]:
    """The cases of all groups."""
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    tables = [yaml.load(file.read_text(encoding="utf-8"), _Rows) for file in files]
    rows = [(rule, row) for table in tables for rule, rows in table.items() for row in rows]
    # DOKS has one model; the others are the program's own list.
    others = (bad("SUP001", "doks-h200", {"fabric.model": model}) for model in MODELS if model != "host-device")
    return (*(_case(rule, **row) for rule, row in rows), *claims.CASES, *others)


def _case(rule: str, plan: Any = None, at: str | list[str] = (), **row: Any) -> RuleCase:
    changes, (sort, stack) = row.pop("with", {}), row.popitem()
    assert not row, f"{rule}: {stack}"
    if sort != "bad":
        assert not at, f"{rule}: {stack}"
        return RuleCase(rule, sort, stack, changes)
    return bad(rule, stack, changes, *([at] if isinstance(at, str) else at))._replace(alteration=_alteration(plan))


def _alteration(plan: Any) -> Alteration | None:
    if plan is None:
        return None
    if isinstance(plan, str):
        return getattr(alterations, plan)
    ((name, arguments),) = plan.items()
    make = getattr(alterations, name)
    return make(**arguments) if isinstance(arguments, dict) else make(*arguments)
