"""The one way an object of the plan is registered as a Pulumi resource."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from gpu_fabric.plan import PlannedObject, PlannedPatch, PlannedReadiness, PlannedRollout
from gpu_fabric.resources.objects import object_resource, patch_resource, readiness_resource, rollout_resource
from gpu_fabric.resources.resource import Resource

from .cluster.handle import ClusterProvider
from .engine_options import handled

# Resources that a component's children must wait for.
After = Sequence[pulumi.Input[pulumi.Resource]]


def child_options(parent: pulumi.Resource, provider: pulumi.ProviderResource, after: After) -> pulumi.ResourceOptions:
    """Options of a component's child; dependencies are named, since a component's own do not reach its children.

    What lies on a cluster of the stack's own is deleted with it: a destroy then asks no cluster, and waits for nothing
    in it.
    """
    gone_with = provider.gone_with if isinstance(provider, ClusterProvider) else None
    return pulumi.ResourceOptions(parent=parent, provider=provider, depends_on=list(after), deleted_with=gone_with)


def custom_resource(name: str, planned: PlannedObject, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """One planned object, of the component of this name."""
    return _registered(object_resource(name, planned), options)


def await_readiness(name: str, readiness: PlannedReadiness, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Wait for a condition of an object that something else created."""
    return _registered(readiness_resource(name, readiness), options)


def patch(name: str, planned: PlannedPatch, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Set fields of an object that something else created and deletes."""
    return _registered(patch_resource(name, planned), options)


def roll_out(name: str, planned: PlannedRollout, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Make the pods of an operator's DaemonSet anew when an annotation in their template changes."""
    return _registered(rollout_resource(name, planned), options)


def _registered(resource: Resource, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    # The SDK's class per kind sends just this, but importing its core/v1 module alone takes half a second.
    return pulumi.CustomResource(resource.type, resource.name, resource.properties, handled(options, resource.handling))
