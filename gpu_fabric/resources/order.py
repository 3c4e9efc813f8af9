"""Every resource of a plan, in an order in which they can be created."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import (
    HelmRelease,
    PlannedAdoption,
    PlannedCapacity,
    PlannedConfiguration,
    PlannedGroup,
    PlannedLabelCleanup,
    PlannedObject,
    PlannedPatch,
    PlannedPullSecret,
    PlannedQueues,
    PlannedReadiness,
    PlannedRetention,
    PlannedRollout,
    PlannedSharing,
    PlannedState,
    PlannedVerification,
    PlannedWait,
    PlannedWaves,
    PlannedWebhookCleanup,
)
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


WAITS = (PlannedWait, PlannedCapacity, PlannedConfiguration, PlannedState, PlannedWaves, PlannedRetention)
"""Types of items that are waits without a resource."""

WITHOUT_RESOURCE = (*WAITS, PlannedSharing)
"""Types of items without a resource."""


class Wait(NamedTuple):
    """A wait without a resource, before the resources that follow."""

    step: Step
    record: PlannedWait | PlannedCapacity | PlannedConfiguration | PlannedState | PlannedWaves | PlannedRetention


def resources(plan: Plan) -> tuple[Resource, ...]:
    """Every resource, after all resources that it refers to or waits for."""
    on_cluster = (resource for step in plan.steps for item in step.items for resource in _resources(plan, step, item))
    cloud = plan.cluster.cloud
    return (*(cloud_resources(CLUSTER, cloud) if cloud else ()), *_add_provider(plan, on_cluster))


def waits(plan: Plan) -> tuple[Wait, ...]:
    """All waits without a resource, in the plan's order."""
    items = ((step, item) for step in plan.steps for item in step.items)
    return tuple(Wait(step, item) for step, item in items if isinstance(item, WAITS))


MADE_OF: dict[type, Callable[[str, Any, Plan], Iterable[Resource]]] = {
    PlannedObject: lambda component, item, _: (object_resource(component, item),),
    HelmRelease: lambda component, item, _: (release_resource(component, item),),
    PlannedReadiness: lambda component, item, _: (readiness_resource(component, item),),
    PlannedPatch: lambda component, item, _: (patch_resource(component, item),),
    PlannedPullSecret: lambda component, item, _: (pull_secret_resource(component, item),),
    PlannedAdoption: lambda component, item, plan: (
        adoption_resource(component, item, f"{NAMESPACE}/{plan.stack}", plan.cluster.context),
    ),
    PlannedRollout: lambda component, item, _: (rollout_resource(component, item),),
    PlannedGroup: lambda component, item, plan: (
        group_resource(component, item, f"{NAMESPACE}/{plan.stack}", plan.cluster.context),
    ),
    PlannedQueues: lambda component, item, plan: queue_resources(component, item, plan.cluster.context),
    PlannedVerification: lambda component, item, plan: (verification_resource(component, item, plan.cluster.context),),
    PlannedWebhookCleanup: lambda component, item, plan: (webhook_cleanup(component, item, plan.cluster.context),),
    PlannedLabelCleanup: lambda component, item, plan: (label_cleanup(component, item, plan.cluster.context),),
    # Waits have no resource, and what is checked before the first one has none.
    PlannedSharing: lambda *_: (),
    PlannedWait: lambda *_: (),
    PlannedCapacity: lambda *_: (),
    PlannedConfiguration: lambda *_: (),
    PlannedState: lambda *_: (),
    PlannedWaves: lambda *_: (),
    PlannedRetention: lambda *_: (),
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
