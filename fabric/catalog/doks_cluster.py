"""DigitalOcean Kubernetes clusters: published dates, lowest versions and limits, from `doks_clusters.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from fabric.model import FrozenModel

Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
"""A published day, as year-month-day; the program never compares it with today."""


class DoksMinor(FrozenModel):
    """One minor version of Kubernetes. `forced_upgrades_from` is None where no day is published."""

    support_ends: Day
    forced_upgrades_from: Day | None = None


class DoksLimits(FrozenModel):
    """What one cluster may hold.

    `multi_node_nodes` counts the nodes of one multi-node size. `wide_nodes` replaces `nodes` where the pod range has
    `wide_pod_prefix` or a shorter one; every node takes a `node_pod_prefix` of that range.
    """

    multi_node_nodes: int = Field(ge=1)
    nodes: int = Field(ge=1)
    wide_pod_prefix: int
    wide_nodes: int = Field(ge=1)
    node_pod_prefix: int
    shortest_vpc_prefix: int
    longest_vpc_prefix: int


class DoksClusterFacts(FrozenModel):
    """Versions and limits of DigitalOcean's clusters.

    `versions` is keyed by minor version, as far as dates are published; `fabric_from` is the lowest version with a
    fabric, `fabric_from_by_gpu` that of single GPU models.
    """

    versions: dict[str, DoksMinor]
    fabric_from: str
    fabric_from_by_gpu: dict[str, str]
    high_availability_from: str
    limits: DoksLimits
