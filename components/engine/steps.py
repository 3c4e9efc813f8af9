"""The one loop by which a plan's steps are registered, each after all that it comes after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pulumi

from gpu_fabric.plan import (
    HelmRelease,
    Plan,
    PlannedCapacity,
    PlannedConfiguration,
    PlannedGroup,
    PlannedObject,
    PlannedPatch,
    PlannedQueues,
    PlannedReadiness,
    PlannedRollout,
    PlannedWait,
)
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.plan.steps import NODES, Step

from ..cluster.handle import ClusterHandle
from ..helm import release
from ..kept_objects import KeptObjects, written
from ..node_states import when_synced
from ..operators.queue_teardown import QueueDrain, QueueRelease
from ..plugin_restarts import when_restarted
from ..rdma.capacity import when_offered
from ..rdma.verification import Verification
from ..resources import After, await_readiness, child_options, custom_resource, patch, roll_out

Outcome = pulumi.Output[dict[str, Any]]
"""What a verification has found."""


class StepComponent(pulumi.ComponentResource):
    """The component of one or more steps: their items are its children, and are named after it."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"gpu-fabric:{kind}", name)
        self.name = name


def register_steps(plan: Plan, cluster: ClusterHandle) -> Outcome | None:
    """Register every resource on a cluster; returns the outcome of its verification, if it has one.

    What a step comes after is named by its own dependencies: those of a component would not reach its children.
    """
    done: dict[str, After] = {NODES: cluster.nodes}
    components: dict[str, StepComponent] = {}
    outcome: Outcome | None = None
    for step in plan.steps:
        after = tuple(resource for name in step.after for resource in done.get(name, ()))
        if (run := plan.record(PlannedVerification, step.name)) is not None:
            outcome = Verification(step.component, run, cluster, after).outcome
            continue
        if step.component not in components:
            components[step.component] = StepComponent(step.component, step.kind)
        done[step.name] = _registered(components[step.component], step, cluster, after)
    for name, component in components.items():
        component.register_outputs(_outputs([step for step in plan.steps if step.component == name]))
    return outcome


def _registered(parent: StepComponent, step: Step, cluster: ClusterHandle, after: After) -> After:
    """The step's resources, or where it waits those that it waits with, known once that is over."""
    made: list[pulumi.Input[pulumi.Resource]] = []
    for item in step.items:
        waits = (*after, *made) if step.in_order else after
        made.extend(REGISTRARS[type(item)](parent, item, cluster, waits))
    return tuple(made)


def _outputs(steps: Sequence[Step]) -> dict[str, Any]:
    """What a component says of itself: the version of its chart, else the names of its objects."""
    items = [item for step in steps for item in step.items]
    versions = [item.chart.version for item in items if isinstance(item, HelmRelease)]
    if versions:
        return {"version": versions[0]}
    return {"names": sorted({item.name for item in items if isinstance(item, PlannedObject | PlannedGroup)})}


def _applied(parent: StepComponent, item: PlannedObject, cluster: ClusterHandle, after: After) -> After:
    return (custom_resource(parent.name, item, child_options(parent, cluster.provider, after)),)


def _released(parent: StepComponent, item: HelmRelease, cluster: ClusterHandle, after: After) -> After:
    return (release(parent.name, item, child_options(parent, cluster.provider, after)),)


def _awaited(parent: StepComponent, item: PlannedReadiness, cluster: ClusterHandle, after: After) -> After:
    return (await_readiness(parent.name, item, child_options(parent, cluster.provider, after)),)


def _patched(parent: StepComponent, item: PlannedPatch, cluster: ClusterHandle, after: After) -> After:
    return (patch(parent.name, item, child_options(parent, cluster.provider, after)),)


def _rolled(parent: StepComponent, item: PlannedRollout, cluster: ClusterHandle, after: After) -> After:
    return (roll_out(parent.name, item, child_options(parent, cluster.provider, after)),)


def _grouped(parent: StepComponent, item: PlannedGroup, cluster: ClusterHandle, after: After) -> After:
    return (written(KeptObjects(parent.name, item, cluster, _of_no_provider(parent, cluster, after))),)


def _queued(parent: StepComponent, item: PlannedQueues, cluster: ClusterHandle, after: After) -> After:
    """A queue with what it stands on, which is emptied before it is deleted while its controller still runs."""
    made: list[pulumi.Resource] = [QueueRelease(parent.name, item, cluster, _of_no_provider(parent, cluster, after))]
    for entry in item.objects:
        made.append(custom_resource(parent.name, entry, child_options(parent, cluster.provider, (*after, *made))))
    # Of another queue it is another resource: the old one is emptied before it goes.
    return (*made, QueueDrain(parent.name, item, cluster, _of_no_provider(parent, cluster, made)))


def _synced(_parent: StepComponent, item: PlannedWait, cluster: ClusterHandle, after: After) -> After:
    return when_synced(item, cluster, after)


def _offered(_parent: StepComponent, item: PlannedCapacity, cluster: ClusterHandle, after: After) -> After:
    # The provider is there in any case, also where the nodes are no resources of the stack.
    return when_offered(item, cluster, after or (cluster.provider,))


def _restarted(_parent: StepComponent, item: PlannedConfiguration, cluster: ClusterHandle, after: After) -> After:
    return when_restarted((item,), cluster, after)


REGISTRARS: dict[type, Callable[[StepComponent, Any, ClusterHandle, After], After]] = {
    PlannedObject: _applied,
    HelmRelease: _released,
    PlannedReadiness: _awaited,
    PlannedPatch: _patched,
    PlannedRollout: _rolled,
    PlannedGroup: _grouped,
    PlannedQueues: _queued,
    PlannedWait: _synced,
    PlannedCapacity: _offered,
    PlannedConfiguration: _restarted,
}
"""How each type of item is registered; a verification is a component of its own."""


def _of_no_provider(parent: StepComponent, cluster: ClusterHandle, after: After) -> pulumi.ResourceOptions:
    """Options of a child that is written in Python: the cluster's provider does not make it."""
    return pulumi.ResourceOptions(parent=parent, depends_on=list(after), deleted_with=cluster.provider.gone_with)
