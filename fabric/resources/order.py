"""Every resource of a plan, in an order in which all of them can be made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from fabric.plan import (
    HelmRelease,
    Plan,
    PlannedCapacity,
    PlannedGroup,
    PlannedObject,
    PlannedPatch,
    PlannedQueues,
    PlannedReadiness,
    PlannedRollout,
    PlannedWait,
)
from fabric.plan.verification import PlannedVerification
from fabric.resources.charts import release_resource
from fabric.resources.doks import CLUSTER as DOKS_CLUSTER
from fabric.resources.doks import doks_resources
from fabric.resources.dynamic import DYNAMIC, group_resource, queue_resources, verification_resource
from fabric.resources.objects import (
    KUBERNETES,
    object_resource,
    patch_resource,
    readiness_resource,
    rollout_resource,
)
from fabric.resources.oke import oke_resources
from fabric.resources.resource import Resource
from fabric.spec.places import NAMESPACE

CLUSTER = "cluster"
"""The component of what a cloud makes, and of the provider of all objects."""

COMPONENTS = (
    CLUSTER,
    "namespaces",
    "gpu-operator",
    "volcano",
    "jobset",
    "mpi-operator",
    "kueue",
    "whereabouts",
    "ofed-driver",
    "host-preparation",
    "virtual-functions",
    "multus",
    "network-operator",
    "nic-policies",
    "spiderpool",
    "sriov",
    "reserved-ips",
    "ip-pools",
    "node-pools",
    "nic-addresses",
    "cni-plugins",
    "networks",
    "nccl",
    "check",
    "verification",
)
"""All components, in an order in which they can come up; a new one goes where its first resource may be made."""

# Fields whose component is not called as they are.
_COMPONENT_OF = {
    "gpu_operator_ready": "gpu-operator",
    "volcano_objects": "volcano",
    "kueue_queues": "kueue",
    "coordinator": "spiderpool",
    "policy": "nic-policies",
    "policy_ready": "nic-policies",
    "node_policies": "nic-policies",
    "plugin_rollouts": "nic-policies",
    "sriov_policies": "sriov",
    "sriov_discovered": "sriov",
    "sriov_synced": "sriov",
    "capacity": "networks",
    "nccl_config_maps": "nccl",
    "fabric_check": "check",
}
DESCRIBING = frozenset(
    {
        "schema_version",
        "stack",
        "release_line",
        "choices",
        "cluster",
        "cost",
        "rails",
        "addresses",
        "sriov_plugin",
        "shared_plugin",
        "node_groups",
        "nccl",
        "network_operator_needs_nfd",
        "workload",
        "findings",
        "acknowledgements",
        "split",
    }
)
"""Fields that are neither applied nor waited for as they are: what they decide is in other fields, or an output."""

# What comes before a Network Operator whose chart makes the policy, and after any other.
_ON_NODES = ("host-preparation", "virtual-functions", "multus")


class Wait(NamedTuple):
    """What is waited for that no resource stands for, before what comes later."""

    component: str
    field: str
    record: PlannedWait | PlannedCapacity


def resources(plan: Plan) -> tuple[Resource, ...]:
    """Every resource, after all that it refers to or waits for."""
    on_cluster = [
        resource for field, record in _records(plan) for resource in _resources(plan, _component(field), record)
    ]
    places = {component: place for place, component in enumerate(_in_order(plan))}
    on_cluster.sort(key=lambda resource: places[resource.component])
    return (*_of_cloud(plan), *_lying_on(plan, on_cluster))


def waits(plan: Plan) -> tuple[Wait, ...]:
    """Everything that is waited for beside resources, in the plan's order."""
    return tuple(
        Wait(_component(field), field, record)
        for field, record in _records(plan)
        if isinstance(record, PlannedWait | PlannedCapacity)
    )


def _in_order(plan: Plan) -> Iterable[str]:
    if plan.policy_ready is not None:
        return COMPONENTS
    # A Network Operator whose policy the stack makes does nothing by itself, and may be what has nodes labelled.
    ordered = [component for component in COMPONENTS if component not in _ON_NODES]
    place = ordered.index("network-operator") + 1
    return (*ordered[:place], *_ON_NODES, *ordered[place:])


def _component(field: str) -> str:
    component = _COMPONENT_OF.get(field, field.replace("_", "-"))
    if component not in COMPONENTS:
        raise LookupError(f"the plan's field {field} belongs to no component that is known to be rendered")
    return component


def _records(plan: Plan) -> Iterator[tuple[str, BaseModel]]:
    """Everything that is applied or waited for, with its field."""
    for field in type(plan).model_fields:
        value = getattr(plan, field)
        if field not in DESCRIBING and value is not None:
            for record in value if isinstance(value, tuple) else (value,):
                yield field, record


def _resources(plan: Plan, component: str, record: BaseModel) -> Iterator[Resource]:
    """A record as the resources that come of it; of a wait comes none."""
    match record:
        case PlannedObject():
            yield object_resource(component, record)
        case HelmRelease():
            yield release_resource(component, record)
        case PlannedReadiness():
            yield readiness_resource(component, record)
        case PlannedPatch():
            yield patch_resource(component, record)
        case PlannedRollout():
            yield rollout_resource(component, record)
        case PlannedGroup():
            yield group_resource(component, record, f"{NAMESPACE}/{plan.stack}", plan.cluster.context)
        case PlannedQueues():
            yield from queue_resources(component, record, plan.cluster.context)
        case PlannedVerification():
            yield verification_resource(component, record, plan.cluster.context)
        case PlannedWait() | PlannedCapacity():
            return
        case _:
            raise TypeError(f"of {component}: nothing is known to come of a {type(record).__name__}")


def _of_cloud(plan: Plan) -> Iterator[Resource]:
    if plan.cluster.doks is not None:
        yield from doks_resources(CLUSTER, plan.cluster.doks)
    if plan.cluster.oke is not None:
        yield from oke_resources(CLUSTER, plan.cluster.oke)


def _lying_on(plan: Plan, on_cluster: Iterable[Resource]) -> Iterator[Resource]:
    """Resources with their provider, and with the cluster that takes them along where the stack may delete it."""
    doks, oke = plan.cluster.doks, plan.cluster.oke
    cluster: dict[str, Any] = {}
    if doks is not None and not doks.protect:
        cluster = {"deleted_with": f"{CLUSTER}-{DOKS_CLUSTER}"}
    if oke is not None and not oke.protect:
        cluster = {"deleted_with": f"{CLUSTER}-{oke.cluster.logical_name}"}
    for resource in on_cluster:
        # The engine's own plug-in for Python asks no provider of the stack's.
        provider = "" if resource.type.startswith(DYNAMIC) else f"{CLUSTER}-{KUBERNETES}"
        yield resource.model_copy(update={"provider": provider}).handled(**cluster)
