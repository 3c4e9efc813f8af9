"""What the stack does on the cluster by programs of its own, as resources: each is one of the engine's for Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from fabric.plan import PlannedGroup, PlannedQueues
from fabric.plan.clouds.oke import Ref
from fabric.plan.verification import PlannedVerification
from fabric.resources.objects import KUBERNETES, object_resource
from fabric.resources.resource import Handling, Resource, Secret

DYNAMIC = "pulumi-python:dynamic/gpu-fabric:"
"""How the types of all of them begin; the name of the class that does it follows."""

KEPT_OBJECTS = f"{DYNAMIC}KeptObjects"
VERIFICATION = f"{DYNAMIC}Verification"


def group_resource(component: str, planned: PlannedGroup, stack: str, context: str | None) -> Resource:
    """Objects that are one resource together.

    `stack` has the project's name before its own; `context` is the one of the kubeconfig that is meant.
    """
    # Of two stacks on one cluster neither takes the other's objects for its own leftovers.
    of_stack = hashlib.sha256(stack.encode()).hexdigest()[:8]
    properties = {
        "keptBy": f"{planned.name}-{of_stack}",
        "cut": planned.cut,
        "plurals": planned.plurals,
        "timeout": planned.timeout,
        "objects": planned.manifests,
    }
    # Both would have the same objects.
    handling = Handling(delete_before_replace=True)
    return _dynamic(component, planned.name, KEPT_OBJECTS, properties, context).model_copy(
        update={"handling": handling}
    )


def queue_resources(component: str, planned: PlannedQueues, context: str | None) -> Iterator[Resource]:
    """A queue with what it stands on, between what ends its controller and what empties it when they are deleted."""
    yield queue_release(component, planned, context)
    for entry in planned.objects:
        yield object_resource(component, entry)
    yield queue_drain(component, planned, context)


def queue_release(component: str, planned: PlannedQueues, context: str | None) -> Resource:
    """What ends the controller, once nothing of a queue is there any more."""
    return _dynamic(component, "release", f"{DYNAMIC}QueueRelease", _controller(planned), context)


def queue_drain(component: str, planned: PlannedQueues, context: str | None) -> Resource:
    """What empties a queue before it is deleted."""
    properties = {**_controller(planned), "queue": planned.name}
    return _dynamic(component, f"drain-{planned.name}", f"{DYNAMIC}QueueDrain", properties, context)


def verification_resource(component: str, planned: PlannedVerification, context: str | None) -> Resource:
    """A run of the verification; the engine is sent `planned` as text, since on its wire all numbers are alike."""
    properties = {"planned": planned.model_dump(mode="json", by_alias=True)}
    return _dynamic(component, "run", VERIFICATION, properties, context)


def _controller(planned: PlannedQueues) -> dict[str, str]:
    return {"namespace": planned.namespace, "controller": planned.controller}


def _dynamic(component: str, name: str, kind: str, properties: dict[str, Any], context: str | None) -> Resource:
    """A resource of a program that asks the cluster itself, with the stack's own kubeconfig."""
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
