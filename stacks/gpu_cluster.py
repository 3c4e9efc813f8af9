"""The resources of a stack: the cluster and everything on it, or one of the two in a split stack."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components import ClusterHandle, register_steps
from components.engine.stack_outputs import StackOutputsError, full_name, last_outputs
from gpu_fabric.plan import Plan

from .outputs import StackOutputs, cluster_outputs, platform_outputs, stack_outputs


def gpu_cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register every resource of the plan; `root` is the project's folder.

    Raises:
        pulumi.RunError: the cluster cannot be reached, or another stack has not created it as planned; before anything
            is registered.
    """
    if plan.part == "platform":
        from components import ReferencedCluster

        assert plan.split is not None, "a plan of a platform states its cluster stack"
        referenced = ReferencedCluster("cluster", plan.split)
        return platform_outputs(plan, register_steps(plan, referenced.handle), referenced.cluster_id)
    cluster = _cluster(plan, root)
    if plan.part == "cluster":
        return cluster_outputs(plan, cluster)
    return stack_outputs(plan, cluster, register_steps(plan, cluster))


def _cluster(plan: Plan, root: Path) -> ClusterHandle:
    """The cluster by its provider, whose component alone is imported."""
    if plan.cluster.doks is not None:
        from .doks_cluster import StackDoksCluster

        return StackDoksCluster("cluster", plan.cluster.doks, exists=_has_cluster).handle
    if plan.cluster.oke is not None:
        from .oke_cluster import StackOkeCluster

        return StackOkeCluster("cluster", plan.cluster.oke).handle
    from components import ExistingCluster

    return ExistingCluster("cluster", plan.cluster, root).handle


def _has_cluster() -> bool:
    """Whether this stack has a cluster since its last run.

    Raises:
        pulumi.RunError: the stack's outputs cannot be read.
    """
    try:
        return bool(last_outputs(full_name(pulumi.get_stack())).get("clusterId"))
    except StackOutputsError as error:
        reason = f"cannot tell whether the cluster exists, and so nothing was changed: {error}"
        raise pulumi.RunError(reason) from None
