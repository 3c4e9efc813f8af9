"""One examination: the stack, its cluster, its state, and under which circumstances they are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gpu_fabric.findings import Phase
from gpu_fabric.live.cluster import Cluster, Json
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import StackState
from gpu_fabric.plan.records import HelmRelease

Purpose = Literal["up", "destroy"]
Definitions = Callable[[HelmRelease], Sequence[Json]]
"""The definitions that a release's chart has in its folder `crds`; none where the chart is not at hand."""


@dataclass(frozen=True)
class Examination:
    """What is judged, in which phase, and for which next command (`purpose`).

    `state` is None where it was not or could not be read. `at_s` is the time, in seconds since 1970. `is_settled`: no
    other run is at work on the cluster, so that no time limit of a release is waited for. What software keeps for a
    while until a time before `overdue`, in UTC and as Kubernetes writes it, it should have removed.
    """

    stack: Stack
    cluster: Cluster
    state: StackState | None = None
    at_s: float = 0.0
    purpose: Purpose = "up"
    is_settled: bool = False
    definitions: Definitions = lambda release: ()
    phase: Phase = "damage"
    overdue: str = ""
