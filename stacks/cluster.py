"""A cluster stack: what a cloud makes, and nothing that lies on it."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components.cluster.existing import ExistingCluster
from components.cluster.handle import ClusterHandle
from components.stack_outputs import StackOutputsError, full_name, last_outputs
from gpu_fabric.plan import Plan
from stacks.outputs import StackOutputs, cluster_outputs


def cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register what the cloud makes; `root` is the project's folder."""
    return cluster_outputs(plan, made_cluster(plan, root))


def was_made() -> bool:
    """Whether the last run of this stack has left a cluster.

    Raises:
        pulumi.RunError: the engine does not say.
    """
    try:
        return bool(last_outputs(full_name(pulumi.get_stack())).get("clusterId"))
    except StackOutputsError as error:
        reason = f"cannot tell whether the cluster is there, and so nothing was changed: {error}"
        raise pulumi.RunError(reason) from None


def made_cluster(plan: Plan, root: Path) -> ClusterHandle:
    """The cluster by its provider."""
    if plan.cluster.doks is not None:
        from components.cluster.doks import DoksCluster

        return DoksCluster("cluster", plan.cluster.doks, made=was_made).handle
    if plan.cluster.oke is not None:
        from components.cluster.oke import OkeCluster

        return OkeCluster("cluster", plan.cluster.oke).handle
    return ExistingCluster("cluster", plan.cluster, root).handle
