"""Outputs of a stack for other programs: the contract for its jobs, and the cluster's facts for a platform stack.

What concerns the cluster is imported from its own module, since what reads a job's contract needs no spec.
"""

from gpu_fabric.contract.fabric import AttachedNetwork, FabricContract, SchedulerHints, contract_of, read_contract

__all__ = ["AttachedNetwork", "FabricContract", "SchedulerHints", "contract_of", "read_contract"]
