"""A stack's cost in a report: an hourly range, or the word unknown with the reason."""

from __future__ import annotations

from decimal import Decimal

from gpu_fabric.plan.cost import HourlyRange, PlannedCost, PoolCost


def cost_rows(cost: PlannedCost) -> dict[str, str]:
    """The total, and every pool's part."""
    rows = {"cost an hour": _total(cost)}
    return rows | {f"cost of {pool.name}": _pool(pool) for pool in cost.pools}


def range_text(amount: HourlyRange) -> str:
    """An hourly range as text; a single number if both ends are equal."""
    least, most = _number(amount.least), _number(amount.most)
    return f"{least} {amount.currency}" if least == most else f"{least} to {most} {amount.currency}"


def _total(cost: PlannedCost) -> str:
    if cost.total is not None:
        return f"{range_text(cost.total)} for machines alone"
    known = " and ".join(range_text(entry) for entry in cost.known)
    if not known:
        return "unknown"
    if all(pool.all is not None for pool in cost.pools):
        return f"{known}, in several currencies"
    return f"unknown; {known} of it are known"


def _pool(pool: PoolCost) -> str:
    if pool.all is None or pool.each is None:
        return f"unknown: {pool.unknown}; cluster.prices may state it"
    nodes = str(pool.nodes) if pool.nodes == pool.most_nodes else f"{pool.nodes} to {pool.most_nodes}"
    seen = f", {pool.as_of.isoformat()}" if pool.as_of is not None else ", no date"
    return f"{range_text(pool.all)}: {nodes} x {pool.machine} at {range_text(pool.each)} ({pool.source}{seen})"


def _number(amount: Decimal) -> str:
    return f"{amount:.2f}"
