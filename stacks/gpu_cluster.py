"""All in one stack: the cluster, its operators, and the fabric."""

from __future__ import annotations

from pathlib import Path

from components.engine.steps import register_steps
from gpu_fabric.plan import Plan
from stacks.cluster import cluster, made_cluster
from stacks.outputs import StackOutputs, stack_outputs
from stacks.platform import platform


def gpu_cluster(plan: Plan, root: Path) -> StackOutputs:
    """Register every resource of the plan, be it all or one part of two; `root` is the project's folder."""
    if plan.part == "cluster":
        return cluster(plan, root)
    if plan.part == "platform":
        return platform(plan)
    made = made_cluster(plan, root)
    return stack_outputs(plan, made, register_steps(plan, made))
