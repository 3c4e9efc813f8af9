"""Kubernetes objects of the plan as resources: names, types, and the annotations by which Pulumi waits."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gpu_fabric.k8s.spiderpool import SpiderReservedIP
from gpu_fabric.plan.records import (
    DOCKER_CONFIGURATION,
    PlannedObject,
    PlannedPatch,
    PlannedPullSecret,
    PlannedReadiness,
    PlannedRollout,
    SecretValue,
)
from gpu_fabric.resources.resource import Handling, Resource

KUBERNETES = "kubernetes"
"""Suffix of the name of the Kubernetes provider, after the cluster component's name."""

AWAITED = "gpu-fabric/awaited"
"""The annotation with the digest of what is waited for."""

# Patches write only annotations and fields of this program; a failed run may have left older ones.
_FORCED = {"pulumi.com/patchForce": "true"}
_NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
# Deleted in the foreground, as the provider does otherwise, an object waits until Kubernetes has taken a finalizer from
# it; Spiderpool's webhook (1.2.2, pkg/reservedipmanager) refuses every change of a SpiderReservedIP that is on its way.
_IN_THE_BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}


def object_resource(component: str, planned: PlannedObject) -> Resource:
    """One planned object, named after the component and the object.

    The plan decides what counts as ready: a condition with a time limit, or existence. For core kinds the provider has
    wait conditions of its own.
    """
    manifest = planned.object.manifest()
    if isinstance(planned.object, SpiderReservedIP):
        manifest["metadata"] |= {"annotations": _IN_THE_BACKGROUND}
    metadata = manifest["metadata"]
    if planned.wait_for is not None:
        wait = _wait(manifest, planned.timeout, planned.wait_for)
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
    """The name of a planned object's resource."""
    namespace = planned.object.metadata.namespace
    return f"{component}-{planned.name}" + (f"-{namespace}" if namespace is not None else "")


def readiness_resource(component: str, planned: PlannedReadiness) -> Resource:
    """Waits for conditions of an object that another controller owns, and writes only annotations to it."""
    # Unset fields are left out, so that the digest from an older version does not change.
    wait = _wait(planned.model_dump(exclude_none=True), planned.timeout, *planned.conditions)
    metadata = {"name": planned.name, "annotations": _FORCED | wait}
    return _patch(f"{planned.name}-ready", component, planned.api_version, planned.kind, {"metadata": metadata})


def patch_resource(component: str, planned: PlannedPatch) -> Resource:
    """Fields of an object that another controller owns; fields that are not stated do not change."""
    content = {"metadata": {"name": planned.name, "annotations": _FORCED}, "spec": planned.spec}
    return _patch(f"{planned.name}-settings", component, planned.api_version, planned.kind, content)


def pull_secret_resource(component: str, planned: PlannedPullSecret) -> Resource:
    """A Secret for pulling images, with a leaf for its content."""
    return Resource(
        component=component,
        name=f"{component}-{planned.name}-{planned.namespace}",
        type="kubernetes:core/v1:Secret",
        properties={
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": planned.name, "namespace": planned.namespace},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {DOCKER_CONFIGURATION: SecretValue(path=DOCKER_CONFIGURATION, key=planned.key, entry=None)},
        },
    )


def rollout_resource(component: str, planned: PlannedRollout) -> Resource:
    """An annotation in the pod template of an operator's DaemonSet, whose change restarts the pods.

    It waits until Kubernetes has stored the new template, not until the last pod is restarted.
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
    # The object's owner deletes the object. To undo a patch, the provider needs the object as it was patched: on a
    # deleted or different cluster this fails, and destroy never completes. A remaining annotation has no effect.
    return Resource(
        component=component,
        name=f"{component}-{name}",
        type=f"kubernetes:{api_version}:{kind}Patch",
        properties={"apiVersion": api_version, "kind": kind, **content},
        handling=Handling(retain_on_delete=True),
    )


def _wait(content: dict[str, Any], seconds: int, *conditions: str) -> dict[str, str]:
    """Annotations that make the provider wait for conditions of the new version of an object.

    The provider may still read the object's old version, accept its old `ready`, and report a difference in every
    later run. So it also waits for a digest of the new content.
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    own = f"jsonpath={{.metadata.annotations['{AWAITED}']}}={digest}"
    return {AWAITED: digest, **_conditions([own, *conditions], seconds)}


def _conditions(conditions: list[str], seconds: int) -> dict[str, str]:
    return {"pulumi.com/waitFor": json.dumps(conditions), "pulumi.com/timeoutSeconds": str(seconds)}
