"""Every subject's differences of one stack and cluster, or account."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.live.account import Ask
from gpu_fabric.live.admission import admission_differences
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.definitions import definition_differences
from gpu_fabric.live.devices import device_differences
from gpu_fabric.live.difference import Difference
from gpu_fabric.live.existing_objects import object_differences
from gpu_fabric.live.namespaces import namespace_differences
from gpu_fabric.live.network import network_differences
from gpu_fabric.live.permissions import permission_differences, unread
from gpu_fabric.live.pool_nodes import node_differences
from gpu_fabric.live.ranges import range_differences
from gpu_fabric.live.runtimes import runtime_differences
from gpu_fabric.live.software import software_differences
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.versions import version_differences
from gpu_fabric.plan import Plan
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.stack import StackSpec

_SUBJECTS = (
    version_differences,
    software_differences,
    definition_differences,
    object_differences,
    namespace_differences,
    node_differences,
    runtime_differences,
    device_differences,
    range_differences,
    admission_differences,
    permission_differences,
    network_differences,
)


def differences(spec: StackSpec, plan: Plan, cluster: Cluster) -> tuple[Difference, ...]:
    """What stands between a plan and a cluster, by subject; nothing where `up` finds what it expects.

    What Pulumi keeps in the cluster is the stack's own, and no difference.
    """
    stack = Stack(spec, plan)
    found = [entry for subject in _SUBJECTS for entry in subject(stack, cluster)]
    return (*found, *unread(cluster))


def account_differences(spec: StackSpec, plan: Plan, ask: Ask) -> Iterator[Difference]:
    """What an account lacks of a plan that creates a cluster in it; nothing for a cluster that exists."""
    # A cloud's module is imported only for stacks of that cloud.
    if isinstance(spec.cluster, DoksClusterSpec):
        from gpu_fabric.live.doks_account import doks_differences

        yield from doks_differences(Stack(spec, plan), spec.cluster, ask)
    elif isinstance(spec.cluster, OkeClusterSpec):
        from gpu_fabric.live.oke_account import oke_differences

        assert plan.cluster.oke is not None, "the plan of a cluster at Oracle"
        yield from oke_differences(spec.cluster, plan.cluster.oke.identity, ask)
