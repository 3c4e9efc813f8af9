"""`gpu-fabric:software.schedulers`: who starts the pods of a job together, or none of them, and who makes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, field_validator

from fabric.k8s.amounts import Quantity
from fabric.k8s.kueue import HOSTNAME_LABEL, MOST_LEVELS
from fabric.model import FrozenModel
from fabric.spec.cluster import DnsLabel

DEFAULT_QUEUE = "default"
"""The queue of Volcano that is there without anybody making it."""

_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
LabelKey = Annotated[
    str,
    StringConstraints(pattern=rf"^({_DOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$", max_length=316),
]


class Volcano(FrozenModel):
    """Volcano, as in the OKE guide: gang scheduling, and jobs whose pods reach each other through ssh."""

    queue: DnsLabel = Field(
        default=DEFAULT_QUEUE, description="queue of the fabric's jobs; one of another name than `default` is made"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Kueue(FrozenModel):
    """Kueue, which holds jobs back until the whole of what they ask for is free."""

    queue: DnsLabel = Field(
        default="fabric",
        description="name of the ClusterQueue, and in every namespace of the fabric of the LocalQueue that jobs name; "
        "in a namespace with one named `default`, jobs that name none are queued, too",
    )
    quotas: dict[str, Quantity] = Field(
        default={},
        description="quota of a resource in place of the plan's, or of one that the plan does not know, such as "
        "`{cpu: 768, memory: 8Ti}`; a job that asks for a resource without a quota waits for ever",
    )
    topology: Literal["none"] | tuple[LabelKey, ...] | None = Field(
        default=None,
        description="labels of the nodes that say how they lie to each other, the widest level first; `none` for none. "
        "By default those of Oracle's RDMA pools, and none elsewhere",
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")

    @field_validator("topology")
    @classmethod
    def _levels_are_levels(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if not isinstance(value, tuple):
            return value
        if not 1 <= len(value) <= MOST_LEVELS:
            raise ValueError(f"{len(value)} levels; write 1 to {MOST_LEVELS}, or none")
        if repeated := sorted({label for label in value if value.count(label) > 1}):
            raise ValueError(f"{', '.join(repeated)} is there twice; a label stands for one level")
        if HOSTNAME_LABEL in value[:-1]:
            raise ValueError(f"{HOSTNAME_LABEL} must come last: no other level lies within a node")
        return value


class MpiOperator(FrozenModel):
    """The MPI operator, which makes the launcher and the workers of an MPIJob."""

    image: str | None = Field(
        default=None, min_length=1, description="another image of the operator; by default the release line's"
    )


class JobSet(FrozenModel):
    """JobSet, which makes several Jobs as one, with names for their pods."""

    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Schedulers(FrozenModel):
    """Schedulers beside Kubernetes' own, and controllers of jobs; none by default."""

    volcano: Volcano | None = Field(
        default=None,
        description="Volcano with its queue, and in every namespace of the fabric the account `mpi-worker-view` of the "
        "OKE guide's jobs; `{}` brings it as it is",
    )
    kueue: Kueue | None = Field(
        default=None,
        description="Kueue with a queue of the stack's GPUs and NICs, and their topology where it is known; `{}` "
        "brings it as it is",
    )
    mpi_operator: MpiOperator | None = Field(
        default=None, description="the MPI operator, for jobs of kind MPIJob; `{}` brings it as it is"
    )
    job_set: JobSet | None = Field(default=None, description="JobSet, for jobs of that kind; `{}` brings it as it is")
