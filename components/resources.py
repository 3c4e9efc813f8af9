"""The one way an object of the plan becomes a Pulumi resource."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pulumi
from pulumi_kubernetes.apiextensions import CustomResourcePatch

from components.cluster.handle import ClusterProvider
from fabric.plan import PlannedObject, PlannedPatch, PlannedReadiness, PlannedRollout

_AWAITED = "gpu-fabric/awaited"
# What is patched into others' objects are annotations of ours alone; a run that failed may have left older ones.
_FORCED = {"pulumi.com/patchForce": "true"}

_NOT_AWAITED = {"pulumi.com/skipAwait": "true"}

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
    """One planned object as a resource named after the component and the object.

    What counts as ready is the plan's decision: a condition with a time limit, or existence. Core kinds have waits of
    their own in the provider.
    """
    manifest = planned.object.manifest()
    metadata = manifest["metadata"]
    if planned.replaced_on:
        # Two objects of one name cannot exist at a time, nor two that claim the same addresses.
        anew = pulumi.ResourceOptions(replace_on_changes=list(planned.replaced_on), delete_before_replace=True)
        options = pulumi.ResourceOptions.merge(options, anew)
    place = f"-{metadata['namespace']}" if "namespace" in metadata else ""
    resource = f"{name}-{metadata['name']}{place}"
    if planned.wait_for is not None:
        wait = _wait(manifest, planned.wait_for, planned.timeout)
        manifest["metadata"] = metadata | {"annotations": metadata.get("annotations", {}) | wait}
    elif not planned.awaited:
        manifest["metadata"] = metadata | {"annotations": metadata.get("annotations", {}) | _NOT_AWAITED}
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
        metadata={
            "name": readiness.name,
            "annotations": _FORCED | _wait(readiness.model_dump(), readiness.wait_for, readiness.timeout),
        },
        opts=options,
    )


def patch(name: str, planned: PlannedPatch, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Set fields of an object that something else created and deletes; what is not stated stays as it is."""
    arguments = {
        "apiVersion": planned.api_version,
        "kind": planned.kind,
        "metadata": {"name": planned.name, "annotations": _FORCED},
        "spec": planned.spec,
    }
    options = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(retain_on_delete=True))
    token = f"kubernetes:{planned.api_version}:{planned.kind}Patch"
    return pulumi.CustomResource(token, f"{name}-{planned.name}-settings", arguments, options)


def roll_out(name: str, planned: PlannedRollout, options: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Make the pods of an operator's DaemonSet anew when an annotation in their template changes.

    Nothing but that annotation is written. Waits until Kubernetes has taken the new template up, not for the last pod.
    """
    written = planned.annotations.items()
    taken_up = [f"jsonpath={{.spec.template.metadata.annotations['{key}']}}={value}" for key, value in written]
    arguments = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": planned.daemon_set,
            "namespace": planned.namespace,
            "annotations": _FORCED | _conditions(taken_up, planned.timeout),
        },
        "spec": {"template": {"metadata": {"annotations": planned.annotations}}},
    }
    token = "kubernetes:apps/v1:DaemonSetPatch"
    return pulumi.CustomResource(token, f"{name}-{planned.daemon_set}-configuration", arguments, options)


def _wait(content: dict[str, Any], condition: str, seconds: int) -> dict[str, str]:
    """Annotations that make the plug-in wait for a condition of an object as it is now.

    The plug-in may still see the object as it was before it wrote it, take an old `ready` for the new one, and find a
    difference in every later run; so it is told to wait for its own words, too.
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    own = f"jsonpath={{.metadata.annotations['{_AWAITED}']}}={digest}"
    return {_AWAITED: digest, **_conditions([own, condition], seconds)}


def _conditions(conditions: list[str], seconds: int) -> dict[str, str]:
    return {"pulumi.com/waitFor": json.dumps(conditions), "pulumi.com/timeoutSeconds": str(seconds)}


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
