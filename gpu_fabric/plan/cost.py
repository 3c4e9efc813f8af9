"""What a stack costs an hour: a range where prices or numbers of nodes have one, and unknown where a price is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from gpu_fabric.catalog.price import PriceTable
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.other_pools import other_nodes
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec

SYSTEM_POOL = "system"
_CENT = Decimal("0.01")


class HourlyRange(FrozenModel):
    """Amounts for an hour, in one currency; both are the same where there is no range."""

    least: Decimal
    most: Decimal
    currency: str

    def __str__(self) -> str:
        """The same as text; a single number if both ends are equal."""
        least, most = f"{self.least:.2f}", f"{self.most:.2f}"
        return f"{least} {self.currency}" if least == most else f"{least} to {most} {self.currency}"


class PoolCost(FrozenModel):
    """A pool: its machines, the price of one, and that of all. `unknown` says why there is none.

    `as_of` is the day of the price, and None where the stack file names none.
    """

    name: str
    machine: str
    nodes: int
    most_nodes: int
    each: HourlyRange | None
    all: HourlyRange | None
    as_of: date | None
    source: str | None
    unknown: str | None


class PlannedCost(FrozenModel):
    """The machines' cost. `total` is None where a price is unknown or where currencies differ; `known` is the sum of
    what is known, a currency each. Networks, volumes, control planes, licences and taxes are not in it."""

    pools: tuple[PoolCost, ...]
    known: tuple[HourlyRange, ...]
    total: HourlyRange | None

    @property
    def total_text(self) -> str:
        """The total as text; what is known of it, where a price is unknown or where currencies differ."""
        if self.total is not None:
            return f"{self.total} for machines alone"
        known = " and ".join(map(str, self.known))
        if not known:
            return "unknown"
        if all(pool.all is not None for pool in self.pools):
            return f"{known}, in several currencies"
        return f"unknown; {known} of it are known"


class _Machines(NamedTuple):
    pool: str
    machine: str
    nodes: int
    most: int


def plan_cost(case: Case) -> PlannedCost:
    """The cost of the stack's machines, GPU pools first."""
    pools = tuple(_pool(case, case.known.prices, machines) for machines in _machines(case))
    ranges = [pool.all for pool in pools if pool.all is not None]
    known = tuple(
        _sum([entry for entry in ranges if entry.currency == currency], currency)
        for currency in dict.fromkeys(entry.currency for entry in ranges)
    )
    whole = len(known) == 1 and len(ranges) == len(pools)
    return PlannedCost(pools=pools, known=known, total=known[0] if whole else None)


def machine_types(case: Case) -> tuple[str, ...]:
    """The types of the stack's machines, each once."""
    return tuple(dict.fromkeys(machines.machine for machines in _machines(case)))


def _machines(case: Case) -> Iterator[_Machines]:
    cluster = case.spec.cluster
    for pool in cluster.pools:
        bounds = getattr(pool, "auto_scale", None)
        least, most = (bounds.min_nodes, bounds.max_nodes) if bounds is not None else (pool.nodes, pool.nodes)
        yield _Machines(pool.name, pool.shape, least, most)
    for nodes in other_nodes(case):
        # Another price than that of the same shape on demand; DigitalOcean's spot sizes have names of their own.
        preemptible = " preemptible" if nodes.reclaimable and isinstance(cluster, OkeClusterSpec) else ""
        yield _Machines(nodes.name, f"{nodes.machine}{preemptible}", nodes.least_nodes, nodes.most_nodes)
    if isinstance(cluster, DoksClusterSpec):
        system = cluster.system_pool
        least = 0 if system.auto_scale_to_zero else system.nodes
        yield _Machines(SYSTEM_POOL, system.size, least, system.nodes)
    if isinstance(cluster, OkeClusterSpec):
        yield _Machines(SYSTEM_POOL, cluster.system_pool.shape, cluster.system_pool.nodes, cluster.system_pool.nodes)


def _pool(case: Case, table: PriceTable, machines: _Machines) -> PoolCost:
    own, listed = case.spec.cluster.prices.get(machines.machine), table.prices.get(machines.machine)
    each = None
    if own is not None:
        least = Decimal(str(own.hourly))
        each = HourlyRange(
            least=least, most=Decimal(str(own.hourly_most)) if own.hourly_most else least, currency=own.currency
        )
    elif listed is not None:
        each = HourlyRange(least=listed.hourly, most=listed.hourly, currency=listed.currency)
    price = own or listed
    reason = table.unknown.reason(machines.machine, case.spec.cluster.provider)
    return PoolCost(
        name=machines.pool,
        machine=machines.machine,
        nodes=machines.nodes,
        most_nodes=machines.most,
        each=each,
        all=each and _times(each, machines),
        as_of=price.as_of if price else None,
        source=(price.source or "the stack file") if price else None,
        unknown=None if price else reason,
    )


def _times(each: HourlyRange, machines: _Machines) -> HourlyRange:
    return HourlyRange(
        least=(each.least * machines.nodes).quantize(_CENT),
        most=(each.most * machines.most).quantize(_CENT),
        currency=each.currency,
    )


def _sum(ranges: list[HourlyRange], currency: str) -> HourlyRange:
    return HourlyRange(
        least=sum((entry.least for entry in ranges), Decimal()),
        most=sum((entry.most for entry in ranges), Decimal()),
        currency=currency,
    )
