"""The one way an object of the plan becomes a Pulumi resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pulumi
from pulumi_kubernetes.apiextensions import CustomResourcePatch

from fabric.plan import PlannedObject, PlannedReadiness, PlannedRollout

# Resources that a component's children must wait for.
After = Sequence[pulumi.Input[pulumi.Resource]]


def child_options(parent: pulumi.Resource, provider: pulumi.ProviderResource, after: After) -> pulumi.ResourceOptions:
    """Options of a component's child; dependencies are named, since a component's own do not reach its children."""
    return pulumi.ResourceOptions(parent=parent, provider=provider, depends_on=list(after))


def custom_resource(name: str, planned: PlannedObject, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """One planned object as a resource named after the component and the object.

    What counts as ready is the plan's decision: a condition with a time limit, or existence. Core kinds have waits of
    their own in the provider.
    """
    manifest = planned.object.manifest()
    metadata = manifest["metadata"]
    place = f"-{metadata['namespace']}" if "namespace" in metadata else ""
    resource = f"{name}-{metadata['name']}{place}"
    if planned.wait_for is not None:
        wait = _wait(planned.wait_for, planned.timeout)
        manifest["metadata"] = metadata | {"annotations": metadata.get("annotations", {}) | wait}
    # The SDK's class per kind sends just this, but importing its core/v1 module alone takes half a second.
    group = planned.object.group() or "core"
    version = planned.object.api_version.rpartition("/")[2]
    token = f"kubernetes:{group}/{version}:{planned.object.kind}"
    return pulumi.CustomResource(token, resource, manifest, options)


def await_readiness(name: str, readiness: PlannedReadiness, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Wait for a condition of an object that something else created; nothing but annotations is written to it."""
    return CustomResourcePatch(
        f"{name}-{readiness.name}-ready",
        api_version=readiness.api_version,
        kind=readiness.kind,
        metadata={"name": readiness.name, "annotations": _wait(readiness.wait_for, readiness.timeout)},
        opts=options,
    )


def roll_out(name: str, planned: PlannedRollout, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Make the pods of an operator's DaemonSet anew when an annotation changes, and wait until all of them run.

    Nothing but that annotation is written.
    """
    arguments = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": planned.daemon_set,
            "namespace": planned.namespace,
            "annotations": {"pulumi.com/timeoutSeconds": str(planned.timeout)},
        },
        "spec": {"template": {"metadata": {"annotations": planned.annotations}}},
    }
    token = "kubernetes:apps/v1:DaemonSetPatch"
    return pulumi.CustomResource(token, f"{name}-{planned.daemon_set}-configuration", arguments, options)


def _wait(condition: str, seconds: int) -> dict[str, str]:
    return {"pulumi.com/waitFor": condition, "pulumi.com/timeoutSeconds": str(seconds)}


class ObjectGroup(pulumi.ComponentResource):
    """Planned objects of one concern that do not depend on each other; subclasses say which concern."""

    type_token: ClassVar[str]
    resources: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedObject, ...],
        provider: pulumi.ProviderResource,
        after: After = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(self.type_token, name, None, opts)
        options = child_options(self, provider, after)
        self.resources = tuple(custom_resource(name, entry, options) for entry in planned)
        self.register_outputs({"names": sorted({entry.name for entry in planned})})
