"""The plan: every address, name, value and object, decided without a cloud."""

from fabric.plan.build import build
from fabric.plan.contract import FabricContract
from fabric.plan.plan import Plan, PlannedCluster, PlannedPool
from fabric.plan.rails import Rail
from fabric.plan.records import (
    ChartReference,
    HelmRelease,
    PlannedCapacity,
    PlannedGroup,
    PlannedObject,
    PlannedPatch,
    PlannedQueues,
    PlannedReadiness,
    PlannedRollout,
    PlannedWait,
    SecretValue,
)

__all__ = [
    "ChartReference",
    "FabricContract",
    "HelmRelease",
    "Plan",
    "PlannedCapacity",
    "PlannedCluster",
    "PlannedGroup",
    "PlannedObject",
    "PlannedPatch",
    "PlannedPool",
    "PlannedQueues",
    "PlannedReadiness",
    "PlannedRollout",
    "PlannedWait",
    "Rail",
    "SecretValue",
    "build",
]
