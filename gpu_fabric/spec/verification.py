"""`gpu-fabric:verification`: a measurement of the fabric, for which `up` can wait."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.base.grammar import CronSchedule, ImageReference, LineText
from gpu_fabric.model import FrozenModel

Launcher = Literal["job", "volcano", "mpi-operator"]


class PointToPointSpec(FrozenModel):
    """Each rail is measured by UCX, too, from node to node: the way in which servers of models send caches."""

    program: LineText = Field(
        default="ucx_perftest",
        description="UCX's test program, 1.12 or later, in the image: a name on its PATH, or a path",
    )
    memory: Literal["gpu", "host"] = Field(
        default="gpu",
        description="where data are: `gpu`, in a GPU's memory, which UCX must be built for; `host`, in the node's",
    )
    percent: int = Field(
        default=92, ge=10, le=100, description="percent of a rail's line rate that each direction must reach"
    )


class VerificationSpec(FrozenModel):
    """A job that measures each rail alone and then the whole fabric, and the thresholds that it must reach."""

    enabled: bool = Field(default=False, description="whether the fabric is measured after its creation or a change")
    launcher: Launcher = Field(
        default="job",
        description="who runs it: `job`, a Job of Kubernetes with a launcher of our own; `volcano`; `mpi-operator`",
    )
    nodes: int | None = Field(default=None, ge=2, le=10000, description="GPU nodes that take part; by default all")
    image: ImageReference | None = Field(
        default=None,
        description="image with bash, Open MPI, ssh's server and client, and nccl-tests 2.17.3 or later (rccl-tests on "
        "AMD's GPUs); none is published that is known to be good on all shapes",
    )
    program: LineText = Field(
        default="all_reduce_perf", description="the test in the image: a name on its PATH, or a path"
    )
    bar: float | None = Field(
        default=None,
        ge=0.01,
        le=100000,
        allow_inf_nan=False,
        description="GB/s that the whole fabric must reach; by default what follows from the line rate",
    )
    rail_bar: float | None = Field(
        default=None,
        ge=0.01,
        le=100000,
        allow_inf_nan=False,
        description="GB/s that each rail alone must reach; by default the fabric's bar, shared by the rails",
    )
    per_rail: bool = Field(default=True, description="whether each rail is measured alone first, so that it is named")
    point_to_point: PointToPointSpec | None = Field(
        default=None,
        description="whether each rail is measured by UCX between neighbouring nodes, too, as inference uses it",
    )
    minutes: int = Field(default=60, ge=5, le=1440, description="time limit of the job, with the start of its pods")
    wait: bool = Field(
        default=True,
        description="whether `up` waits for the verdict and fails with it; else a later `up` reports it",
    )
    schedule: CronSchedule | None = Field(
        default=None,
        description="when idle nodes are measured again, in the form of CronJobs and in UTC (`17 */4 * * *`), by pods "
        "that every job preempts; the image then also needs curl",
    )
    trigger: LineText | None = Field(
        default=None, description="any text; another one has an unchanged fabric measured again"
    )
