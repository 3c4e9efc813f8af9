"""`gpu-fabric:software.schedulers`: schedulers that start the pods of a job together, or none of them."""

from __future__ import annotations

from pydantic import Field, JsonValue

from fabric.model import FrozenModel
from fabric.spec.cluster import DnsLabel

DEFAULT_QUEUE = "default"
"""The queue of Volcano that is there without anybody making it."""


class Volcano(FrozenModel):
    """Volcano, as in the OKE guide: gang scheduling, and jobs whose pods reach each other through ssh."""

    queue: DnsLabel = Field(
        default=DEFAULT_QUEUE, description="queue of the fabric's jobs; one of another name than `default` is made"
    )
    values: dict[str, JsonValue] = Field(default={}, description="chart values, merged last")


class Schedulers(FrozenModel):
    """Schedulers beside Kubernetes' own; none by default."""

    volcano: Volcano | None = Field(
        default=None,
        description="Volcano with its queue, and in every namespace of the fabric the account `mpi-worker-view` of the "
        "OKE guide's jobs; `{}` brings it as it is",
    )
