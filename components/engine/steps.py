"""The one loop that registers a plan's steps, each after the steps that it names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import pulumi

from gpu_fabric.plan import Plan, records
from gpu_fabric.plan.steps import NODES, Step
from gpu_fabric.resources.objects import (
    object_resource,
    patch_resource,
    pull_secret_resource,
    readiness_resource,
    rollout_resource,
)
from gpu_fabric.resources.order import WITHOUT_RESOURCE
from gpu_fabric.resources.resource import Resource

from ..adopted_sections import AdoptedSections
from ..cluster.handle import ClusterHandle, Resources
from ..kept_objects import KeptObjects, when_written
from ..operators.label_cleanup import LabelCleanup
from ..operators.queue_teardown import QueueDrain, QueueRelease
from ..operators.webhook_cleanup import WebhookCleanup
from ..rdma import capacity
from ..rdma.verification import Verification
from . import node_states, object_states, plugin_restarts
from .pod_watch import watch_pods
from .registration import (
    DynamicResource,
    SecretText,
    child_options,
    configured_secret,
    kubernetes_resource,
    release,
    resource_with_secrets,
)
from .retained_objects import when_retained
from .waiting import delay_resources
from .waves.rollout import when_changed

Outcome = pulumi.Output[dict[str, Any]]
"""The result of a verification."""


class Registered(NamedTuple):
    """The resources on a cluster, some of them known only after a wait, and the outcome of its verification if any.

    `verifications` are those of further fabrics, by the fabric's name.
    """

    resources: Resources
    verification: Outcome | None
    verifications: dict[str, Outcome]


class StepComponent(pulumi.ComponentResource):
    """The component of one or more steps; their items are its children, whose names begin with its name.

    Inside an `owner` the names begin with the owner's name. `secret_text` gives the secrets that charts need.
    """

    def __init__(self, step: Step, owner: pulumi.Resource | None, secret_text: SecretText) -> None:
        self.name = _name(owner, step.component)
        self.retained = step.retained
        self.owner = "" if owner is None else owner.pulumi_resource_name
        self.secret_text = secret_text
        super().__init__(f"gpu-fabric:{step.kind}", self.name, None, pulumi.ResourceOptions(parent=owner))


Registrar = Callable[[Any, Any, ClusterHandle, Resources], Resources]


def register_steps(
    plan: Plan,
    cluster: ClusterHandle,
    owner: pulumi.Resource | None = None,
    secret_text: SecretText = configured_secret,
) -> Registered:
    """Register every resource on a cluster, as children of an `owner` if the program has several fabrics.

    Each resource lists what it depends on: a component's own dependencies do not apply to its children.
    """
    done: dict[str, Resources] = {NODES: cluster.nodes}
    components: dict[str, StepComponent] = {}
    outcomes: dict[str, Outcome] = {}
    for step in plan.steps:
        after = (*cluster.first, *(resource for name in step.after for resource in done.get(name, ())))
        if (run := plan.record(records.PlannedVerification, step.name)) is not None:
            options = pulumi.ResourceOptions(parent=owner)
            outcomes[run.fabric] = Verification(_name(owner, step.component), run, cluster, after, options).outcome
            continue
        # A component of waits alone has nothing to show.
        if step.component not in components and _has_resources(plan, step.component):
            components[step.component] = StepComponent(step, owner, secret_text)
        done[step.name] = _register_step(components.get(step.component), step, cluster, after)
    for name, component in components.items():
        component.register_outputs(_outputs([step for step in plan.steps if step.component == name]))
    resources = tuple(resource for step in done.values() for resource in step)
    watch_pods(plan, cluster, resources)
    return Registered(resources, outcomes.pop("", None), outcomes)


def _name(owner: pulumi.Resource | None, name: str) -> str:
    return name if owner is None else f"{owner.pulumi_resource_name}-{name}"


def _has_resources(plan: Plan, component: str) -> bool:
    items = (item for step in plan.steps if step.component == component for item in step.items)
    return any(not isinstance(item, WITHOUT_RESOURCE) for item in items)


def _register_step(parent: StepComponent | None, step: Step, cluster: ClusterHandle, after: Resources) -> Resources:
    """The step's resources; those of a wait are known when it has ended."""
    created: list[pulumi.Input[pulumi.Resource]] = []
    for item in step.items:
        before = (*after, *created) if step.in_order else after
        created.extend(REGISTRARS[type(item)](parent, item, cluster, before))
    return tuple(created)


def _outputs(steps: Sequence[Step]) -> dict[str, Any]:
    """A component's outputs: the version of its chart, or the names of its objects."""
    items = [item for step in steps for item in step.items]
    versions = [item.chart.version for item in items if isinstance(item, records.HelmRelease)]
    named = (item for item in items if isinstance(item, records.PlannedObject | records.PlannedGroup))
    return {"version": versions[0]} if versions else {"names": sorted({item.name for item in named})}


def _register_release(parent: StepComponent, item: Any, cluster: ClusterHandle, after: Resources) -> Resources:
    return (release(parent.name, item, child_options(parent, cluster, after), parent.secret_text),)


def _register_pull_secret(parent: StepComponent, item: Any, cluster: ClusterHandle, after: Resources) -> Resources:
    resource, options = pull_secret_resource(parent.name, item), child_options(parent, cluster, after)
    return (resource_with_secrets(resource, "data", options, parent.secret_text),)


def _register_queue(
    parent: StepComponent, item: records.PlannedQueues, cluster: ClusterHandle, after: Resources
) -> Resources:
    """A queue with the objects that it needs; it is emptied before it is deleted, while its controller still runs."""
    options = child_options(parent, cluster, after, in_python=True)
    created: list[pulumi.Resource] = []
    if item.stops_controller:
        created.append(QueueRelease(parent.name, item, cluster, options))
    for entry in item.objects:
        options = child_options(parent, cluster, (*after, *created))
        created.append(kubernetes_resource(object_resource(parent.name, entry), options))
    # For another queue it is another resource: the old queue is emptied before it is deleted.
    options = child_options(parent, cluster, created, in_python=True)
    return (*created, *(QueueDrain(parent.name, one, cluster, options) for one in item.each))


def _planned(resource_of: Callable[[str, Any], Resource]) -> Registrar:
    """Registers an item as one resource of the cluster's Kubernetes provider."""

    def registered(parent: StepComponent, item: Any, cluster: ClusterHandle, after: Resources) -> Resources:
        return (kubernetes_resource(resource_of(parent.name, item), child_options(parent, cluster, after)),)

    return registered


def _in_python(kind: type[DynamicResource]) -> Registrar:
    """Registers an item as one resource whose provider is written in Python."""

    def registered(parent: StepComponent, item: Any, cluster: ClusterHandle, after: Resources) -> Resources:
        resource = kind(
            parent.name, item, cluster, child_options(parent, cluster, after, in_python=True), owner=parent.owner
        )
        return (when_written(resource) if isinstance(resource, KeptObjects) else resource,)

    return registered


def _awaited(module: ModuleType, until: Callable[..., Awaitable[None]]) -> Registrar:
    """Delays what comes later `until` an item's wait has ended, for which `looking` of the module reads the cluster."""

    def registered(_: StepComponent, item: Any, cluster: ClusterHandle, after: Resources) -> Resources:
        async def waited(kubeconfig: str) -> None:
            await until(item, module.looking(item, kubeconfig, cluster.context), pulumi.log.info)

        # The provider exists in any case, also where the nodes are not resources of the stack.
        return delay_resources(cluster, after or (cluster.provider,), waited)

    return registered


REGISTRARS: dict[type, Registrar] = {
    records.PlannedObject: _planned(object_resource),
    records.HelmRelease: _register_release,
    records.PlannedReadiness: _planned(readiness_resource),
    records.PlannedPatch: _planned(patch_resource),
    records.PlannedPullSecret: _register_pull_secret,
    records.PlannedRollout: _planned(rollout_resource),
    records.PlannedAdoption: _in_python(AdoptedSections),
    records.PlannedGroup: _in_python(KeptObjects),
    records.PlannedQueues: _register_queue,
    records.PlannedWebhookCleanup: _in_python(WebhookCleanup),
    records.PlannedLabelCleanup: _in_python(LabelCleanup),
    # The program has compared it with the cluster before anything is registered.
    records.PlannedSharing: lambda *_: (),
    records.PlannedWait: _awaited(node_states, node_states.wait_until_synced),
    records.PlannedCapacity: _awaited(capacity, capacity.wait_until_offered),
    records.PlannedConfiguration: _awaited(plugin_restarts, plugin_restarts.wait_until_restarted),
    records.PlannedState: _awaited(object_states, object_states.wait_until_in_state),
    records.PlannedRetention: lambda _, item, cluster, after: when_retained(item, cluster, after),
    records.PlannedWaves: lambda _, item, cluster, after: when_changed(item, cluster, after),
}
"""How each type of item is registered; a verification is a component of its own."""
