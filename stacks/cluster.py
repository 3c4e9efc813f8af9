"""A cluster stack: what a cloud makes, and nothing that lies on it."""

from __future__ import annotations

from pathlib import Path

from components.cluster.existing import ExistingCluster
from components.cluster.handle import ClusterHandle
from fabric.plan import Plan
from stacks.outputs import StackOutputs, cluster_outputs


def cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register what the cloud makes; `root` is the project's folder."""
    return cluster_outputs(plan, made_cluster(plan, root))


def made_cluster(plan: Plan, root: Path) -> ClusterHandle:
    """The cluster by its provider, whose SDK is imported for its own stacks alone."""
    if plan.cluster.doks is not None:
        from components.cluster.doks import DoksCluster

        return DoksCluster("cluster", plan.cluster.doks).handle
    if plan.cluster.oke is not None:
        from components.cluster.oke import OkeCluster

        return OkeCluster("cluster", plan.cluster.oke).handle
    return ExistingCluster("cluster", plan.cluster, root).handle
