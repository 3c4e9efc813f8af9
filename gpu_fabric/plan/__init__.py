"""The plan: every address, name, value and object, decided without a cloud."""

from gpu_fabric.plan.build import build
from gpu_fabric.plan.plan import Plan, PlannedCluster, PlannedPool
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import (
    ChartReference,
    HelmRelease,
    PlannedCapacity,
    PlannedConfiguration,
    PlannedGroup,
    PlannedObject,
    PlannedPatch,
    PlannedQueues,
    PlannedReadiness,
    PlannedRollout,
    PlannedWait,
    SecretValue,
    WantedFunctions,
)

__all__ = [
    "ChartReference",
    "HelmRelease",
    "Plan",
    "PlannedCapacity",
    "PlannedCluster",
    "PlannedConfiguration",
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
    "WantedFunctions",
    "build",
]
