"""One examination: the stack, its cluster, its state, and under which circumstances they are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gpu_fabric.live.cluster import Cluster, Json
from gpu_fabric.live.owners import Owner
from gpu_fabric.live.software import installs
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.plan.records import HelmRelease

Purpose = Literal["up", "destroy"]
Definitions = Callable[[HelmRelease], Sequence[Json]]
"""The definitions that a release's chart has in its folder `crds`; none where the chart is not at hand."""


@dataclass(frozen=True)
class Examination:
    """What is judged, and for which next command (`purpose`).

    `state` is None where it could not be read. `at_s` is the time, in seconds since 1970. `is_settled`: no other
    run is at work on the cluster, so that no time limit of a release is waited for.
    """

    stack: Stack
    cluster: Cluster
    state: StackState | None
    at_s: float
    purpose: Purpose = "up"
    is_settled: bool = False
    definitions: Definitions = lambda release: ()

    def installs(self, owner: Owner) -> bool:
        """Whether the stack installs an operator, so that what it leaves behind is the stack's own."""
        return installs(self.stack, owner.name) is not None
