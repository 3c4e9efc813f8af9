"""Outputs of a stack for other programs: the contract for its jobs, and the cluster's facts for a platform stack."""

from gpu_fabric.contract.cluster import ClusterContract, ClusterFacts, SharedPool, cluster_contract, differences
from gpu_fabric.contract.fabric import (
    AttachedNetwork,
    FabricContract,
    FileMount,
    HugePages,
    SchedulerHints,
    SharedMemory,
    read_contract,
)

__all__ = [
    "AttachedNetwork",
    "ClusterContract",
    "ClusterFacts",
    "FabricContract",
    "FileMount",
    "HugePages",
    "SchedulerHints",
    "SharedMemory",
    "SharedPool",
    "cluster_contract",
    "differences",
    "read_contract",
]
