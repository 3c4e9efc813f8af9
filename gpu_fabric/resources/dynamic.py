"""Dynamic resources (Pulumi's for Python): work that the stack's own code does on the cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from gpu_fabric.plan.clouds.record import Ref
from gpu_fabric.plan.records import (
    PlannedAdoption,
    PlannedGroup,
    PlannedLabelCleanup,
    PlannedQueues,
    PlannedVerification,
    PlannedWebhookCleanup,
)
from gpu_fabric.resources.objects import KUBERNETES, object_resource
from gpu_fabric.resources.resource import Handling, Resource, Secret

DYNAMIC = "pulumi-python:dynamic/gpu-fabric:"
"""Prefix of their types; the name of the class follows."""

KEPT_OBJECTS = f"{DYNAMIC}KeptObjects"
VERIFICATION = f"{DYNAMIC}Verification"
ADOPTED_SECTIONS = f"{DYNAMIC}AdoptedSections"


def group_resource(component: str, planned: PlannedGroup, stack: str, context: str | None) -> Resource:
    """Several objects as one resource.

    `stack` is the project's and the stack's name; `context` is the context of the kubeconfig.
    """
    # Unique per stack, so that a stack does not delete another stack's objects on the same cluster as its leftovers.
    of_stack = hashlib.sha256(stack.encode()).hexdigest()[:8]
    properties = {
        "keptBy": f"{planned.name}-{of_stack}",
        "cut": planned.cut,
        "plurals": planned.plurals,
        "timeout": planned.timeout,
        "objects": planned.manifests,
    }
    # The old and the new resource would own the same objects.
    handling = Handling(delete_before_replace=True)
    return _dynamic(component, planned.name, KEPT_OBJECTS, properties, context).model_copy(
        update={"handling": handling}
    )


def adoption_resource(component: str, planned: PlannedAdoption, stack: str, context: str | None) -> Resource:
    """Sections of an object that exists; `stack` is the project's and the stack's name."""
    # Each stack manages its own fields, so that one takes out no section of another.
    of_stack = hashlib.sha256(stack.encode()).hexdigest()[:8]
    properties = {
        "manager": f"gpu-fabric-{of_stack}",
        "path": f"/apis/{planned.api_version}/{planned.plural}/{planned.name}",
        "manifest": {
            "apiVersion": planned.api_version,
            "kind": planned.kind,
            "metadata": {"name": planned.name},
            "spec": planned.spec,
        },
    }
    return _dynamic(component, f"{planned.name}-sections", ADOPTED_SECTIONS, properties, context)


def queue_resources(component: str, planned: PlannedQueues, context: str | None) -> Iterator[Resource]:
    """A queue and its objects; on deletion, the queue is drained first and the stack's controller is stopped last."""
    if planned.stops_controller:
        yield queue_release(component, planned, context)
    for entry in planned.objects:
        yield object_resource(component, entry)
    yield from (queue_drain(component, one, context) for one in planned.each)


def queue_release(component: str, planned: PlannedQueues, context: str | None) -> Resource:
    """The resource that stops the controller on deletion, after the queue's objects are deleted."""
    return _dynamic(component, "release", f"{DYNAMIC}QueueRelease", _controller(planned), context)


def queue_drain(component: str, planned: PlannedQueues, context: str | None) -> Resource:
    """The resource that drains a queue before the queue is deleted."""
    shared = {} if planned.stops_controller else {"shared": True}
    properties = {**_controller(planned), "queue": planned.name, **shared}
    return _dynamic(component, f"drain-{planned.name}", f"{DYNAMIC}QueueDrain", properties, context)


def webhook_cleanup(component: str, planned: PlannedWebhookCleanup, context: str | None) -> Resource:
    """The resource that deletes webhook configurations without a Service, before and after their operator exists."""
    properties = {"webhooks": planned.name, "namespace": planned.namespace}
    return _dynamic(component, planned.name, f"{DYNAMIC}WebhookCleanup", properties, context)


def label_cleanup(component: str, planned: PlannedLabelCleanup, context: str | None) -> Resource:
    """The resource that deletes the labels and annotations that operators leave on nodes, when it is deleted."""
    properties = {"prefixes": list(planned.prefixes)}
    return _dynamic(component, "cleanup", f"{DYNAMIC}LabelCleanup", properties, context)


def verification_resource(component: str, planned: PlannedVerification, context: str | None) -> Resource:
    """A run of the verification; Pulumi receives `planned` as text, because it does not distinguish number types."""
    properties = {"planned": planned.model_dump(mode="json", by_alias=True)}
    return _dynamic(component, "run", VERIFICATION, properties, context)


def _controller(planned: PlannedQueues) -> dict[str, str]:
    return {"namespace": planned.namespace, "controller": planned.controller}


def _dynamic(component: str, name: str, kind: str, properties: dict[str, Any], context: str | None) -> Resource:
    """A resource whose code accesses the cluster with the stack's kubeconfig."""
    return Resource(
        component=component,
        name=f"{component}-{name}",
        type=kind,
        properties={
            "kubeconfig": Secret(name="kubeconfig"),
            **({} if context is None else {"context": context}),
            "cluster": Ref(ref=KUBERNETES, output="cluster_identifier"),
            **properties,
        },
    )
