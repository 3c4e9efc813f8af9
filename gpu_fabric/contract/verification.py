"""The output `verification` of a stack: the outcome of a measurement of the fabric."""

from __future__ import annotations

import operator
from typing import Literal

from pydantic import Field

from gpu_fabric.model import FrozenModel


class VerificationOutcome(FrozenModel):
    """The outcome of a measurement; bandwidths are bus bandwidths in GB/s (1e9 bytes)."""

    state: Literal["passed", "failed", "started"] = Field(
        description="`passed` or `failed`; `started` while it runs, and where it cannot be judged yet"
    )
    wait: bool = Field(description="whether `up` waited for it")
    job: str = Field(description="name of the job")
    namespace: str = Field(description="its namespace")
    launcher: str = Field(description="who ran it")
    nodes: int = Field(description="GPU nodes that took part")
    bar: float = Field(description="bandwidth that the whole fabric must reach")
    bar_explained: str = Field(description="where this bar comes from")
    rail_bar: float | None = Field(default=None, description="bandwidth that each rail alone must reach")
    measured: float | None = Field(default=None, description="measured bandwidth of the whole fabric")
    rails: dict[str, float | None] = Field(description="measured bandwidth of each rail alone, by its number")
    point_to_point_bar: float | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="bandwidth that each rail must reach between two nodes by UCX, in GB/s, if that is asked for",
    )
    point_to_point: dict[str, float | None] = Field(
        default={},
        exclude_if=operator.not_,
        description="lowest bandwidth of each rail between two nodes by UCX, in GB/s, by its number",
    )
    report: tuple[str, ...] = Field(description="the verdict in lines for people")
    config_map: str = Field(description="ConfigMap that has the whole report")
    look: str = Field(description="command that shows the job, or its report")
