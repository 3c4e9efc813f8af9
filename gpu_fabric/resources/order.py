"""Every resource of a plan, in an order in which they can be created."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, get_args

from gpu_fabric.plan import Plan, records
from gpu_fabric.plan.steps import Step
from gpu_fabric.resources.charts import release_resource
from gpu_fabric.resources.cloud import cloud_resources
from gpu_fabric.resources.dynamic import (
    DYNAMIC,
    adoption_resource,
    group_resource,
    label_cleanup,
    queue_resources,
    verification_resource,
    webhook_cleanup,
)
from gpu_fabric.resources.objects import (
    KUBERNETES,
    object_resource,
    patch_resource,
    pull_secret_resource,
    readiness_resource,
    rollout_resource,
)
from gpu_fabric.resources.resource import Resource
from gpu_fabric.spec.places import NAMESPACE

CLUSTER = "cluster"
"""The component of the cloud's resources and of the Kubernetes provider."""


_Wait = (
    records.PlannedWait
    | records.PlannedCapacity
    | records.PlannedConfiguration
    | records.PlannedState
    | records.PlannedWaves
    | records.PlannedRetention
)
WAITS = get_args(_Wait)
"""Types of items that are waits without a resource."""

WITHOUT_RESOURCE = (*WAITS, records.PlannedSharing)
"""Types of items without a resource."""


class Wait(NamedTuple):
    """A wait without a resource, before the resources that follow."""

    step: Step
    record: _Wait


def resources(plan: Plan) -> tuple[Resource, ...]:
    """Every resource, after all resources that it refers to or waits for."""
    on_cluster = (resource for step in plan.steps for item in step.items for resource in _resources(plan, step, item))
    cloud = plan.cluster.cloud
    return (*(cloud_resources(CLUSTER, cloud) if cloud else ()), *_add_provider(plan, on_cluster))


def waits(plan: Plan) -> tuple[Wait, ...]:
    """All waits without a resource, in the plan's order."""
    items = ((step, item) for step in plan.steps for item in step.items)
    return tuple(Wait(step, item) for step, item in items if isinstance(item, WAITS))


_Made = Callable[[str, Any, Plan], Iterable[Resource]]


def _one(make: Callable[[str, Any], Resource]) -> _Made:
    return lambda component, item, _: (make(component, item),)


def _in_context(make: Callable[[str, Any, str | None], Resource]) -> _Made:
    return lambda component, item, plan: (make(component, item, plan.cluster.context),)


def _of_stack(make: Callable[[str, Any, str, str | None], Resource]) -> _Made:
    return lambda component, item, plan: (make(component, item, f"{NAMESPACE}/{plan.stack}", plan.cluster.context),)


MADE_OF: dict[type, _Made] = {
    records.PlannedObject: _one(object_resource),
    records.HelmRelease: _one(release_resource),
    records.PlannedReadiness: _one(readiness_resource),
    records.PlannedPatch: _one(patch_resource),
    records.PlannedPullSecret: _one(pull_secret_resource),
    records.PlannedAdoption: _of_stack(adoption_resource),
    records.PlannedRollout: _one(rollout_resource),
    records.PlannedGroup: _of_stack(group_resource),
    records.PlannedQueues: lambda component, item, plan: queue_resources(component, item, plan.cluster.context),
    records.PlannedVerification: _in_context(verification_resource),
    records.PlannedWebhookCleanup: _in_context(webhook_cleanup),
    records.PlannedLabelCleanup: _in_context(label_cleanup),
    **dict.fromkeys(WITHOUT_RESOURCE, lambda *_: ()),
}
"""The resources of each type of item."""


def _resources(plan: Plan, step: Step, item: object) -> Iterable[Resource]:
    made = MADE_OF[type(item)](step.component, item, plan)
    return (resource.handled(retain_on_delete=True) for resource in made) if step.retained else made


def _add_provider(plan: Plan, on_cluster: Iterable[Resource]) -> Iterator[Resource]:
    """Resources with their provider, and with `deleted_with` where the stack may delete their cluster."""
    cloud = plan.cluster.cloud
    cluster = {"deleted_with": f"{CLUSTER}-{cloud.cluster.logical_name}"} if cloud and not cloud.protect else {}
    for resource in on_cluster:
        # Dynamic resources use no provider of the stack.
        provider = "" if resource.type.startswith(DYNAMIC) else f"{CLUSTER}-{KUBERNETES}"
        yield resource.model_copy(update={"provider": provider}).handled(**cluster)
