"""Bus bandwidth: the formula per operation, and the bar that a fabric must reach, from line rate, NICs and nodes.

Bandwidths are in GB/s (1e9 bytes a second), line rates in Gb/s.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog import Shape
from gpu_fabric.model import FrozenModel

_FILE = Path(__file__).with_name("bars.yaml")


class Operation(StrEnum):
    """An operation of nccl-tests for which the bus bandwidth is defined here."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"


class BarUnknownError(ValueError):
    """No bar can be derived; the message names the fact that is not published."""


class Percent(FrozenModel):
    """Shares of the line rate, in percent."""

    bar: int
    good: int
    broken: int
    sockets: int


class PublishedBar(FrozenModel):
    """A bar in GB/s that is not derived from the line rate, with its reason; by default its source is the row's."""

    value: int = Field(ge=1)
    reason: str
    source: str | None = None


class BarRow(FrozenModel):
    """The published facts about the fabric of a shape; unpublished facts are absent.

    `remark` and `source` are about the line rate and the bar that is derived from it.
    """

    nics: int | None = Field(default=None, ge=1)
    gbps: int | None = Field(default=None, ge=1)
    bar: PublishedBar | None = None
    two_node_bar: PublishedBar | None = None
    rack_bar: PublishedBar | None = None
    ring_bar: PublishedBar | None = None
    multi_node_nvlink: bool = False
    remark: str | None = None
    source: str

    @model_validator(mode="after")
    def _rate_is_whole(self) -> Self:
        if (self.nics is None) != (self.gbps is None):
            raise ValueError("nics and gbps go together")
        if self.ring_bar is not None and self.nics is not None:
            raise ValueError("a ringBar is for a shape whose line rate is not known")
        return self


class BarTable(FrozenModel):
    """The table `bars.yaml`."""

    percent: Percent
    least_bytes: int
    least_iterations: int
    tree_nodes: int
    shapes: dict[str, BarRow]


class Bar(FrozenModel):
    """The bar of one run, and how it is derived.

    `limit` is the line rate of a node's NICs, None if the bar is not derived from it. `most` is the highest bandwidth
    that a run can show over them, None if that is unknown. From `good` on, no remark is made. `ring_or_nodes`: the bar
    holds for rings, or for at least so many nodes; `assumes` says so in words.
    """

    value: float = Field(gt=0)
    limit: float | None = None
    most: float | None = None
    good: float | None = None
    ring_or_nodes: int | None = None
    assumes: str | None = Field(default=None, description="the run that the bar is for")
    explanation: str
    source: str


@cache
def bar_table() -> BarTable:
    """The published facts about bars."""
    return BarTable.model_validate(read_table(_FILE))


def bus_factor(operation: Operation, ranks: int) -> float:
    """Bus bandwidth by algorithm bandwidth, for a number of ranks.

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    share = (ranks - 1) / ranks
    return 2 * share if operation is Operation.ALL_REDUCE else share


def line_rate(nics: int, gbps: int) -> float:
    """GB/s that the NICs of one node carry: the most that a ring, or a tree over four or more nodes, can show."""
    return nics * gbps / 8


def given_bar(value: float, by: str = "--bar") -> Bar:
    """A bar that the user sets."""
    return Bar(value=value, explanation=f"{value:g} GB/s, given by {by}", source=by)


def point_to_point_bar(shape: Shape, percent: int) -> Bar:
    """The bar in GB/s of what one RDMA NIC of a shape sends to another one: a share of its line rate.

    Raises:
        BarUnknownError: the line rate is not published.
    """
    gbps, row = nic_speed(shape), bar_table().shapes.get(shape.name)
    if gbps is None:
        raise BarUnknownError(f"the line rate of the RDMA NICs of {shape.name} is not published")
    limit = line_rate(1, gbps)
    value = limit * percent // 1 / 100 or limit * percent / 100
    return Bar(
        value=value,
        limit=limit,
        most=limit,
        assumes="one rail between two nodes, one way",
        explanation=f"{gbps} Gb/s / 8 = {limit:g} GB/s; {percent} % of it is {value:g} GB/s",
        source=f"{shape.source if row is None or row.gbps != gbps else row.source}; no share for UCX is published",
    )


def share_of_bar(bar: Bar, rails: int) -> Bar:
    """The bar of one rail: its share of the whole fabric's, rounded down to two digits unless that is 0.

    It holds for rings; a run with one GPU a node on four or more nodes always uses rings.
    """
    value = bar.value * 100 // rails / 100 or bar.value / rails
    said = f"{bar.value:g} GB/s by {rails} rails is {value:g} GB/s a rail ({bar.explanation})"
    return Bar(
        value=value,
        limit=None if bar.limit is None else bar.limit / rails,
        most=None if bar.limit is None else bar.limit / rails,
        good=None if bar.good is None else bar.good / rails,
        ring_or_nodes=bar_table().tree_nodes,
        assumes="one rail, with one GPU a node",
        explanation=said,
        source=bar.source,
    )


def shape_bar(shape: Shape, rails: int, *, nodes: int, ring: bool, nvlink: bool | None, operation: Operation) -> Bar:
    """The bar of a run on `nodes` nodes of a shape that use `rails` NICs each.

    `ring`: NCCL was configured to use rings. `nvlink`: whether NVLink between nodes was configured on or off; None if
    it was not configured.

    Raises:
        BarUnknownError: a fact that the bar needs is not published.
    """
    table = bar_table()
    row = table.shapes.get(shape.name)
    if shape.bar_unknown is not None:
        raise BarUnknownError(shape.bar_unknown)
    if operation is Operation.ALL_TO_ALL:
        raise BarUnknownError("no bar for alltoall is published: what it reaches depends on the whole network")
    if row is not None and row.multi_node_nvlink and nvlink is not False:
        return _rack_bar(shape.name, row)
    if nvlink and (row is None or not row.multi_node_nvlink):
        raise BarUnknownError(f"no bar of {shape.name} over NVLink between nodes is published")
    if row is not None and row.two_node_bar is not None and nodes == 2 and not ring and rails == row.nics:
        two = row.two_node_bar
        said = f"{two.value} GB/s for two nodes of {shape.name} on which NCCL chooses its algorithm: {two.reason}"
        # A tree between two nodes sends each byte once, but the formula counts a ring's traffic.
        factor = max(1.0, bus_factor(operation, nodes * shape.gpus.count))
        most = None if row.nics is None or row.gbps is None else line_rate(row.nics, row.gbps) * factor
        assumes = "two nodes, on which NCCL chooses its algorithm"
        return Bar(value=two.value, most=most, assumes=assumes, explanation=said, source=two.source or row.source)
    if row is not None and row.ring_bar is not None:
        if not ring:
            raise BarUnknownError(f"the bar of {shape.name} is for rings; measure with NCCL_ALGO=RING")
        of_rings = row.ring_bar
        said = f"{of_rings.value} GB/s for rings between nodes of {shape.name}: {of_rings.reason}"
        return Bar(value=of_rings.value, assumes="rings", explanation=said, source=of_rings.source or row.source)
    return _line_rate_bar(shape, rails, row, table)


def _rack_bar(shape: str, row: BarRow) -> Bar:
    bar = row.rack_bar
    if bar is None:
        raise BarUnknownError(
            f"{shape} may use NVLink between nodes, for which no bar is published; measure with NCCL_MNNVL_ENABLE=0"
        )
    said = f"{bar.value} GB/s for one rack of {shape} over multi-node NVLink, not over the rails: {bar.reason}"
    return Bar(value=bar.value, assumes="one rack, over NVLink", explanation=said, source=bar.source or row.source)


def nic_speed(shape: Shape) -> int | None:
    """Gb/s of one RDMA NIC of a shape: the shape's own figure, or the published one; None if neither is known."""
    row = bar_table().shapes.get(shape.name)
    published = row.gbps if row is not None and row.nics == shape.rails else None
    return shape.nic_speed_gbps or published


def _line_rate_bar(shape: Shape, rails: int, row: BarRow | None, table: BarTable) -> Bar:
    published = row.gbps if row is not None and row.gbps is not None and row.nics == shape.rails else None
    gbps = nic_speed(shape)
    if gbps is None:
        raise BarUnknownError(f"the line rate of the RDMA NICs of {shape.name} is not published")
    if not rails:
        raise BarUnknownError(f"{shape.name} has no RDMA NICs")
    limit, share = line_rate(rails, gbps), table.percent
    # Below 1 GB/s nothing is rounded: a bar of 0 would be met by a fabric that carries nothing.
    derived = rails * gbps * share.bar // 800 or rails * gbps * share.bar / 800
    rounded = ", rounded down," if derived >= 1 else ""
    said = f"{rails} NICs x {gbps} Gb/s / 8 = {limit:g} GB/s; {share.bar} % of it{rounded} is {derived:g} GB/s"
    value: float = derived
    source = shape.source
    if row is not None and published == gbps:
        source = row.source
        if row.bar is not None and rails == row.nics:
            value, source = row.bar.value, row.bar.source or row.source
            said += f"; the bar is {value} GB/s: {row.bar.reason}"
        elif row.remark is not None:
            said += f" ({row.remark})"
    good = rails * gbps * share.good / 800
    return Bar(
        value=value,
        limit=limit,
        most=limit,
        good=good,
        ring_or_nodes=table.tree_nodes,
        assumes=f"rings, or {table.tree_nodes} nodes and more",
        explanation=said,
        source=source,
    )
