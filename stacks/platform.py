"""A platform stack: operators and the fabric, on a cluster that another stack has made."""

from __future__ import annotations

from components.cluster.referenced import ReferencedCluster
from components.engine.steps import register_steps
from gpu_fabric.plan import Plan
from stacks.outputs import StackOutputs, platform_outputs


def platform(plan: Plan) -> StackOutputs:
    """Register what lies on the cluster of another stack.

    Raises:
        pulumi.RunError: that stack has not made the cluster that this plan is for; before anything is registered.
    """
    assert plan.split is not None, "a plan of a platform states its cluster stack"
    referenced = ReferencedCluster("cluster", plan.split)
    return platform_outputs(plan, register_steps(plan, referenced.handle), referenced.cluster_id)
