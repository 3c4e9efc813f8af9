"""Kubernetes objects of the plan as resources: names, types, and the annotations by which the engine waits."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fabric.plan import PlannedObject, PlannedPatch, PlannedReadiness, PlannedRollout
from fabric.resources.resource import Handling, Resource

KUBERNETES = "kubernetes"
"""What the provider of all objects is called after the cluster's component."""

_AWAITED = "gpu-fabric/awaited"
# What is patched into others' objects are annotations of ours alone; a run that failed may have left older ones.
_FORCED = {"pulumi.com/patchForce": "true"}
_NOT_AWAITED = {"pulumi.com/skipAwait": "true"}


def object_resource(component: str, planned: PlannedObject) -> Resource:
    """One planned object, named after the component and the object.

    What counts as ready is the plan's decision: a condition with a time limit, or existence. Core kinds have waits of
    their own in the provider.
    """
    manifest = planned.object.manifest()
    metadata = manifest["metadata"]
    if planned.wait_for is not None:
        wait = _wait(manifest, planned.wait_for, planned.timeout)
        manifest["metadata"] = metadata | {"annotations": metadata.get("annotations", {}) | wait}
    elif not planned.awaited:
        manifest["metadata"] = metadata | {"annotations": metadata.get("annotations", {}) | _NOT_AWAITED}
    group = planned.object.group() or "core"
    version = planned.object.api_version.rpartition("/")[2]
    return Resource(
        component=component,
        name=object_name(component, planned),
        type=f"kubernetes:{group}/{version}:{planned.object.kind}",
        properties=manifest,
        # Two objects of one name cannot exist at a time, nor two that claim the same addresses.
        handling=Handling(replace_on_changes=planned.replaced_on, delete_before_replace=bool(planned.replaced_on)),
    )


def object_name(component: str, planned: PlannedObject) -> str:
    """What a planned object's resource is called."""
    namespace = planned.object.metadata.namespace
    return f"{component}-{planned.name}" + (f"-{namespace}" if namespace is not None else "")


def readiness_resource(component: str, planned: PlannedReadiness) -> Resource:
    """A condition of an object that something else created; nothing but annotations is written to it."""
    wait = _wait(planned.model_dump(), planned.wait_for, planned.timeout)
    metadata = {"name": planned.name, "annotations": _FORCED | wait}
    return _patch(f"{planned.name}-ready", component, planned.api_version, planned.kind, {"metadata": metadata})


def patch_resource(component: str, planned: PlannedPatch) -> Resource:
    """Fields of an object that something else created and deletes; what is not stated stays as it is."""
    content = {"metadata": {"name": planned.name, "annotations": _FORCED}, "spec": planned.spec}
    resource = _patch(f"{planned.name}-settings", component, planned.api_version, planned.kind, content)
    return resource.handled(retain_on_delete=True)


def rollout_resource(component: str, planned: PlannedRollout) -> Resource:
    """An annotation in the template of an operator's DaemonSet, by whose change its pods are made anew.

    Waits until Kubernetes has taken the new template up, not for the last pod.
    """
    written = planned.annotations.items()
    taken_up = [f"jsonpath={{.spec.template.metadata.annotations['{key}']}}={value}" for key, value in written]
    content = {
        "metadata": {
            "name": planned.daemon_set,
            "namespace": planned.namespace,
            "annotations": _FORCED | _conditions(taken_up, planned.timeout),
        },
        "spec": {"template": {"metadata": {"annotations": planned.annotations}}},
    }
    return _patch(f"{planned.daemon_set}-configuration", component, "apps/v1", "DaemonSet", content)


def _patch(name: str, component: str, api_version: str, kind: str, content: dict[str, Any]) -> Resource:
    return Resource(
        component=component,
        name=f"{component}-{name}",
        type=f"kubernetes:{api_version}:{kind}Patch",
        properties={"apiVersion": api_version, "kind": kind, **content},
    )


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
