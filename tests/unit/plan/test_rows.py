"""What plans say, a row each: a sentence, a stack with changes, and values at places of its plan.

The rows are in `rows/`, by what they are about; `planned_values` explains how a place is written. A row may name
several stacks. `example` is for a stack of `examples/` in place of one of `tests/stacks`.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from planned_fabrics import example, plan_of
from planned_values import differs
from rows import tables


class Row(NamedTuple):
    """A sentence, the stacks that must show it, what is changed in them, and values by their places."""

    stacks: list[str]
    changes: dict[str, Any]
    values: dict[str, Any]
    examples: bool


def rows() -> dict[str, Row]:
    """All rows by file and sentence."""
    found = {}
    for path in sorted((Path(__file__).parent / "rows").glob("*.yaml")):
        for sentence, row in tables(path).items():
            known = {"stack", "changes", "example"}
            stacks = row["stack"] if isinstance(row["stack"], list) else [row["stack"]]
            values = {place: value for place, value in row.items() if place not in known}
            found[f"{path.stem}: {sentence}"] = Row(stacks, row.get("changes", {}), values, row.get("example", False))
    return found


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in rows().items()])
def test_a_plan_says(row: Row) -> None:
    for stack in row.stacks:
        plan = (example if row.examples else plan_of)(stack, row.changes)
        found = [difference for place, value in row.values.items() if (difference := differs(plan, place, value))]
        assert row.values
        assert found == [], stack


def test_what_one_row_says_a_plan_has_not_another_says_a_plan_has() -> None:
    """A step, a chart or a kind that was renamed would be in no plan."""
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for row in rows().values():
        for place, value in row.values.items():
            first, *words = place.split()
            name = first if first[0].isupper() else " ".join([first, *words[:1]])
            if first[0].isupper() or first in ("step", "release"):
                seen[value in (None, {}) and place == name].add(name)

    assert seen[True] - {"release"} <= seen[False]
