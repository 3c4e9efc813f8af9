"""What a remedy says, for this stack; a value in it is enough, and the next value that asks for less is not."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes

from rules.tables import RuleCase, found_in

ROWS = [
    (*name.split(" on "), row)
    for entry in yaml.safe_load(Path(__file__).with_name("remedies.yaml").read_text(encoding="utf-8"))
    for name, row in entry.items()
]


def _found(rule: str, stack: str, changes: Changes) -> list[str]:
    return [entry.remedy for entry in found_in(RuleCase(rule, "bad", stack, changes))]


@pytest.mark.parametrize(("rule", "stack", "row"), ROWS, ids=[f"{row[0]}-{place}" for place, row in enumerate(ROWS)])
def test_a_remedy_names_what_this_stack_may_have_and_the_value_that_is_just_enough(
    rule: str, stack: str, row: dict[str, Any]
) -> None:
    changes, remedy, *values = row.items()

    assert _found(rule, stack, changes[1]) == [remedy[1]]
    for place, value in values:
        assert _found(rule, stack, {**changes[1], place: value["enough"]}) == []
        assert _found(rule, stack, {**changes[1], place: value["short"]}) == [remedy[1]]
