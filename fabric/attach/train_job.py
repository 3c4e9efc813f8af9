"""A TrainJob has no pod template: what it can patch in its runtime's is seen as one here, and written back."""

from __future__ import annotations

from typing import Any

from fabric.attach.kinds import Template, Workload
from fabric.attach.place import Malformed, Place, Tree
from fabric.attach.problem import Problem

MANAGER = "gpu-fabric"
"""Whose entry of `runtimePatches` it is; no two writers share one."""

# The runtime's job that trains, and its container: the names that Kubeflow's own runtimes have.
_NODE = "node"
_TO_TEMPLATE = ("trainingRuntimeSpec", "template", "spec")
_OLDER = ("podTemplateOverrides", "podSpecOverrides")
# What a patch may set; a contract that needs more is attached to the runtime.
_PATCHED_OF_SPEC = ("volumes", "nodeSelector", "tolerations")
_PATCHED_OF_CONTAINER = ("volumeMounts", "securityContext")


def template_of(workload: Workload) -> Template:
    """The pod template of the job's nodes, as far as the TrainJob states it.

    Raises:
        Malformed: the document is not built so, or is of a release that cannot say what the fabric needs.
    """
    place = workload.place.made("spec")
    for key in _OLDER:
        if place.content.get(key):
            message = "cannot carry the container's security context, which the fabric needs"
            remedy = "use runtimePatches, or attach the fabric to the TrainingRuntime or ClusterTrainingRuntime"
            raise Malformed(Problem("ATT024", place.document, place.under(key), message, remedy))
    trainer = place.found("trainer")
    container: Tree = {"name": _NODE}
    if trainer is not None:
        container |= {"env": trainer.values("env"), "resources": trainer.content.get("resourcesPerNode")}
    found = _patched(place)
    spec: Tree = {} if found is None else dict((found.found("spec") or Place({}, "", 0, place.said)).content)
    for own in spec.get("containers") or ():
        if isinstance(own, dict) and own.get("name") == _NODE:
            container |= {key: own.get(key) for key in _PATCHED_OF_CONTAINER}
    content: Tree = {"metadata": {} if found is None else found.content.get("metadata"), "spec": spec}
    content["spec"]["containers"] = [container]
    return Template(Place(content, f"pods[{_NODE}]", place.document, place.said), _NODE)


def write_back(workload: Workload, template: Place) -> None:
    """Put into the TrainJob what was attached to the template that `template_of` gave."""
    place = workload.place.made("spec")
    (container,) = template.content["spec"]["containers"]
    trainer = place.made("trainer")
    if container.get("env"):
        trainer.content["env"] = container["env"]
    trainer.content["resourcesPerNode"] = container["resources"]
    patched = _patched(place) or _new_patch(place)
    metadata = template.content.get("metadata") or {}
    if metadata:
        patched.content["metadata"] = metadata
    spec = patched.made("spec")
    for key in _PATCHED_OF_SPEC:
        if template.content["spec"].get(key):
            spec.content[key] = template.content["spec"][key]
    unable = set(template.content["spec"]) - set(spec.content) - {"containers"}
    for key in sorted(unable):
        message = f"a TrainJob cannot set {key} of its pods"
        workload.place.refuse("ATT024", "spec", message, "attach the fabric to the runtime that it refers to")
    written = {key: container[key] for key in _PATCHED_OF_CONTAINER if container.get(key)}
    own = next((entry for entry in spec.entries("containers") if entry.content.get("name") == _NODE), None)
    if own is None:
        spec.append("containers", {"name": _NODE, **written})
    else:
        own.content.update(written)
    workload.place.note(
        "ATT060",
        "spec.runtimePatches",
        f"needs a Kubeflow Trainer that knows them, and a runtime whose job and container are named {_NODE}",
    )


def _patched(spec: Place) -> Place | None:
    """The pod template in our entry of the patches."""
    for entry in spec.entries("runtimePatches"):
        if entry.content.get("manager") == MANAGER:
            here = entry
            for key in _TO_TEMPLATE:
                here = here.made(key)
            for job in here.entries("replicatedJobs"):
                if job.content.get("name") == _NODE:
                    return job.made("template").made("spec").made("template")
    return None


def _new_patch(spec: Place) -> Place:
    job: Any = {"name": _NODE, "template": {"spec": {"template": {}}}}
    patch: Any = {"replicatedJobs": [job]}
    for key in reversed(_TO_TEMPLATE):
        patch = {key: patch}
    spec.append("runtimePatches", {"manager": MANAGER, **patch})
    found = _patched(spec)
    assert found is not None
    return found
