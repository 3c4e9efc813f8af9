"""What an account lacks of a plan; it is compared before `up`, by the command `preflight` alone."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.findings import Finding
from gpu_fabric.live.account import Ask
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan import Plan
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.stack import StackSpec


def account_differences(spec: StackSpec, plan: Plan, ask: Ask) -> Iterator[Finding]:
    """What an account lacks of a plan that creates a cluster in it; nothing for a cluster that exists."""
    # A cloud's module is imported only for stacks of that cloud.
    if isinstance(spec.cluster, DoksClusterSpec):
        from gpu_fabric.live.doks_account import doks_differences

        yield from doks_differences(Stack(spec, plan), spec.cluster, ask)
    elif isinstance(spec.cluster, OkeClusterSpec):
        from gpu_fabric.live.oke_account import oke_differences

        assert plan.cluster.oke is not None, "the plan of a cluster at Oracle"
        yield from oke_differences(spec.cluster, plan.cluster.oke.identity, ask)
