"""Outputs of a stack for other programs: the contract for its jobs, and the cluster's facts for a platform stack."""

from gpu_fabric.contract.cluster import ClusterContract, ClusterFacts, cluster_contract
from gpu_fabric.contract.fabric import AttachedNetwork, FabricContract, SchedulerHints, read_contract

__all__ = [
    "AttachedNetwork",
    "ClusterContract",
    "ClusterFacts",
    "FabricContract",
    "SchedulerHints",
    "cluster_contract",
    "read_contract",
]
