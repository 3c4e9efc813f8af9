"""What the NICs of a node carry together, and the bus bandwidth that a run over the fabric must reach."""

from __future__ import annotations

import operator
from typing import Literal

from pydantic import Field

from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, nic_speed
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import has_domains
from gpu_fabric.plan.verification import derived_bar, fabric_bar


class NodeRate(FrozenModel):
    """The RDMA NICs of a node of a shape, and the line rate of each in Gb/s; None where it is not published."""

    shape: str
    nics: int
    gbps: int | None

    @property
    def tbps(self) -> float | None:
        """Tb/s that the NICs of one node carry together."""
        return None if self.gbps is None else self.nics * self.gbps / 1000


class WayBar(FrozenModel):
    """What jobs reach in a rack, over NVLink, or across racks, over the rails."""

    way: Literal["in a rack", "across racks"]
    bar: Bar | None
    unknown: str | None = Field(default=None, description="why there is no bar")


class PlannedBandwidth(FrozenModel):
    """The line rates of the GPU nodes, a row for each shape, and the bar of the whole fabric.

    `racks` are the bars of a stack with domains of NVLink; `bar` is that of the two which its verification has.
    """

    rates: tuple[NodeRate, ...]
    bar: Bar | None
    unknown: str | None = Field(default=None, description="why there is no bar")
    racks: tuple[WayBar, ...] = Field(default=(), exclude_if=operator.not_)


def plan_bandwidth(case: Case) -> PlannedBandwidth:
    """The bandwidth of a stack's fabric; its bar is that of the verification, whether or not the stack runs it."""
    rates = tuple(
        NodeRate(shape=shape.name, nics=shape.rails, gbps=nic_speed(shape)) for shape in dict.fromkeys(case.shapes)
    )
    if case.purpose == "storage":
        return PlannedBandwidth(rates=rates, bar=None, unknown="NCCL's tests do not measure a storage fabric")
    racks = (_way(case, "in a rack"), _way(case, "across racks")) if has_domains(case) else ()
    try:
        return PlannedBandwidth(rates=rates, bar=fabric_bar(case), racks=racks)
    except BarUnknownError as error:
        return PlannedBandwidth(rates=rates, bar=None, unknown=str(error), racks=racks)


def _way(case: Case, way: Literal["in a rack", "across racks"]) -> WayBar:
    try:
        return WayBar(way=way, bar=derived_bar(case, nvlink=way == "in a rack"))
    except BarUnknownError as error:
        return WayBar(way=way, bar=None, unknown=str(error))
