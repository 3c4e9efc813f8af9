"""What the NICs of a node carry together, and the bus bandwidth that a run over the fabric must reach."""

from __future__ import annotations

from pydantic import Field

from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, nic_speed
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.verification import fabric_bar


class NodeRate(FrozenModel):
    """The RDMA NICs of a node of a shape, and the line rate of each in Gb/s; None where it is not published."""

    shape: str
    nics: int
    gbps: int | None

    @property
    def tbps(self) -> float | None:
        """Tb/s that the NICs of one node carry together."""
        return None if self.gbps is None else self.nics * self.gbps / 1000


class PlannedBandwidth(FrozenModel):
    """The line rates of the GPU nodes, a row for each shape, and the bar of the whole fabric."""

    rates: tuple[NodeRate, ...]
    bar: Bar | None
    unknown: str | None = Field(default=None, description="why there is no bar")


def plan_bandwidth(case: Case) -> PlannedBandwidth:
    """The bandwidth of a stack's fabric; its bar is that of the verification, whether or not the stack runs it."""
    rates = tuple(
        NodeRate(shape=shape.name, nics=shape.rails, gbps=nic_speed(shape)) for shape in dict.fromkeys(case.shapes)
    )
    if case.purpose == "storage":
        return PlannedBandwidth(rates=rates, bar=None, unknown="NCCL's tests do not measure a storage fabric")
    try:
        return PlannedBandwidth(rates=rates, bar=fabric_bar(case))
    except BarUnknownError as error:
        return PlannedBandwidth(rates=rates, bar=None, unknown=str(error))
