"""Whether nodes offer their GPUs as whole ones, so that what is offered can be counted."""

from __future__ import annotations

from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.stack import StackSpec


def offers_whole_gpus(spec: StackSpec) -> bool:
    """Whether each node offers as many GPUs as its machine has: not in parts (MIG, AMD's modes), and not by DRA."""
    cluster, operator = spec.cluster, spec.software.gpu_operator
    plugin = operator.values.get("devicePlugin")
    if operator.mig is not None or "mig" in operator.values or (isinstance(plugin, dict) and plugin.get("config")):
        return False
    if not isinstance(cluster, DoksClusterSpec):
        return True
    return cluster.plugins.gpu != "dra" and not any(pool.gpu_partition_mode for pool in cluster.pools)
