"""For every policy what it must pass, what it must find, and what is none of its business; the smallest of each."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from made_resources import made
from recording import Registration


class Case(NamedTuple):
    """Resources that a policy passes, finds and leaves alone; `says` is a part of what it says of the bad ones."""

    good: list[Registration]
    bad: list[Registration]
    says: str
    irrelevant: list[Registration]
    settings: dict[str, Any]


def _case(says: str, settings: dict[str, Any] | None = None, **resources: list[list[Any]]) -> Case:
    # A row may leave out the inputs of a resource and, behind them, further fields of its registration.
    rows = {sort: [made(*row[:2], **dict(*row[2:])) for row in entries] for sort, entries in resources.items()}
    return Case(says=says, settings=settings or {}, **rows)


_ROWS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CASES = {name: _case(**row) for name, row in _ROWS.items()}
