"""Rows of a table that are alike, folded into one: what differs between them becomes a span."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from ipaddress import ip_interface
from itertools import groupby

from gpu_fabric.base.enumeration import first_to_last
from gpu_fabric.plan import Plan
from gpu_fabric.report.content import POOL_COLUMNS, RAIL_COLUMNS, pool_rows, rail_rows

Row = tuple[str, ...]


def folded_rails(plan: Plan) -> Iterator[Row]:
    """The rails, those that are alike in one row."""
    return folded_rows(RAIL_COLUMNS, rail_rows(plan), RAIL_COLUMNS)


def folded_pools(plan: Plan) -> Iterator[Row]:
    """The address pools, those of the same counts in one row."""
    return folded_rows(POOL_COLUMNS, pool_rows(plan), ("pool", "range", "gateway"))


def folded_rows(columns: Sequence[str], rows: Iterable[Row], varying: Collection[str]) -> Iterator[Row]:
    """Each run of rows that differ only in `varying` columns, and there only in numbers and addresses, as one row."""
    may_vary = [column in varying for column in columns]

    def form(row: Row) -> Row:
        return tuple(_form(cell) if free else cell for cell, free in zip(row, may_vary, strict=True))

    for _, alike in groupby(rows, key=form):
        yield tuple(first_to_last(cells) for cells in zip(*alike, strict=True))


def _form(cell: str) -> str:
    """What cells of alike rows have in common: a network's size, a name without its numbers, hexadecimal or not."""
    try:
        return f"address /{ip_interface(cell).network.prefixlen}"
    except ValueError:
        return re.sub(r"[0-9a-f]+" if ":" in cell else r"[0-9]+", "#", cell)
