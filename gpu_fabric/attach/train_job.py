"""TrainJobs have no pod template: their patches of the runtime's template are read as one, and written back."""

from __future__ import annotations

from typing import Any

from gpu_fabric.attach.kinds import Template, Workload
from gpu_fabric.attach.place import Malformed, Place, Problem, Tree

MANAGER = "gpu-fabric.dev/attach"
"""The manager of our entry in `runtimePatches`. Each writer has its own; Trainer's webhook requires a domain/path."""

# The manager that earlier releases of this program wrote, which the webhook refuses.
_OLDER_MANAGER = "gpu-fabric"

# The name of the runtime's training job and of its container in Kubeflow's own runtimes.
_NODE = "node"
_TO_TEMPLATE = ("trainingRuntimeSpec", "template", "spec")
_OLDER = ("podTemplateOverrides", "podSpecOverrides")
# The fields that a patch may set. A contract that needs more must be attached to the runtime.
_PATCHED_OF_SPEC = ("volumes", "nodeSelector", "tolerations")
_PATCHED_OF_CONTAINER = ("volumeMounts", "securityContext")


def template_of(workload: Workload) -> Template:
    """The pod template of the job's nodes, with the fields that the TrainJob sets.

    Raises:
        Malformed: the document does not have this structure, or uses an API that lacks fields the fabric needs.
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
    """Write the attached template, as returned by `template_of`, back into the TrainJob."""
    place = workload.place.made("spec")
    (container,) = template.content["spec"]["containers"]
    trainer = place.made("trainer")
    if container.get("env"):
        trainer.content["env"] = container["env"]
    trainer.content["resourcesPerNode"] = container["resources"]
    patched = _patched(place) or _new_patch(place)
    _take_over(place)
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
        f"needs a Kubeflow Trainer that knows them, and a runtime whose job and container are named {_NODE}: "
        "its webhook refuses the TrainJob otherwise; of an MPI runtime whose launcher is a node, attach the runtime",
    )


def patched_template(workload: Workload) -> Place | None:
    """The pod template in our entry of a TrainJob's patches; None if there is no such entry."""
    return _patched(workload.place.seen("spec"))


def _patched(spec: Place) -> Place | None:
    entries = spec.entries("runtimePatches")
    for entry in sorted(entries, key=lambda entry: entry.content.get("manager") != MANAGER):
        if entry.content.get("manager") in (MANAGER, _OLDER_MANAGER):
            here = entry
            for key in _TO_TEMPLATE:
                here = here.made(key)
            for job in here.entries("replicatedJobs"):
                if job.content.get("name") == _NODE:
                    return job.made("template").made("spec").made("template")
    return None


def _take_over(spec: Place) -> None:
    """Rename an entry of an earlier release to the manager that the webhook accepts."""
    entries = {entry.content.get("manager"): entry for entry in spec.entries("runtimePatches")}
    older = entries.get(_OLDER_MANAGER)
    if older is None:
        return
    if MANAGER in entries:
        older.refuse("ATT024", "manager", f"Trainer's webhook refuses {_OLDER_MANAGER!r}", "remove this entry")
        return
    older.content["manager"] = MANAGER


def _new_patch(spec: Place) -> Place:
    job: Any = {"name": _NODE, "template": {"spec": {"template": {}}}}
    patch: Any = {"replicatedJobs": [job]}
    for key in reversed(_TO_TEMPLATE):
        patch = {key: patch}
    spec.append("runtimePatches", {"manager": MANAGER, **patch})
    found = _patched(spec)
    assert found is not None
    return found
