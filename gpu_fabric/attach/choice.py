"""Select the pod templates that the fabric is attached to, and the container in each.

A TrainJob has no pod template: its patches of the runtime's template are read as one, and written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpu_fabric.attach.devices import asks_for, refuse_other_accelerators
from gpu_fabric.attach.kinds import Template, Workload, containers, field_at, templates
from gpu_fabric.attach.place import Malformed, Place, Said, Tree
from gpu_fabric.findings import finding

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
            raise Malformed(place.document, place.under(key), message, remedy, "ATT024")
    trainer = place.found("trainer")
    container: Tree = {"name": _NODE}
    if trainer is not None:
        container |= {"env": trainer.values("env"), "resources": trainer.content.get("resourcesPerNode")}
    found = _find_patched(place)
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
    patched = _find_patched(place) or _new_patch(place)
    _rename_older_entry(place)
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
    return _find_patched(workload.place.seen("spec"))


def _find_patched(spec: Place) -> Place | None:
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


def _rename_older_entry(spec: Place) -> None:
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
    found = _find_patched(spec)
    assert found is not None
    return found


class Chosen(NamedTuple):
    """A container that the fabric is attached to, and its pod template."""

    workload: Workload
    template: Place
    container: Place


class _Candidate(NamedTuple):
    workload: Workload
    template: Template
    containers: tuple[Place, ...]
    asking: tuple[Place, ...]

    @property
    def names(self) -> list[str]:
        return [container.name for container in self.containers]

    @property
    def role(self) -> str:
        return self.template.role or ""

    @property
    def possible(self) -> bool:
        return self.is_worker_too or self.role not in self.workload.kind.never

    @property
    def is_worker_too(self) -> bool:
        """Whether the role never trains by default, but does in this workload (`unless` of `kinds.yaml`)."""
        kind = self.workload.kind
        works = bool(kind.unless) and field_at(self.workload.place, kind.unless) is True
        return works and self.role in kind.never

    def said(self) -> str:
        """The containers as values of --container."""
        return ", ".join(map(self.said_one, self.containers))

    def said_one(self, container: Place) -> str:
        """A container as a value of --container."""
        return f"{self.role}/{container.name}" if self.role else container.name


def choose(workloads: Sequence[Workload], options: Sequence[str], gpu: str, said: Said) -> list[Chosen]:
    """The containers to attach the fabric to.

    Each wish is a role, a container's name, or both as `role/name`. Without a wish, it is the container that requests
    `gpu`. An ambiguous workload is recorded as a problem that lists the candidates.
    """
    candidates = [candidate for workload in workloads for candidate in _candidates(workload, gpu, said)]
    unused = [wish for wish in options if not any(_is_meant(candidate, wish) for candidate in candidates)]
    for wish in unused:
        there = "; ".join(f"{entry.workload.name}: {entry.said()}" for entry in candidates) or "none"
        message = f"no role and no container is named {wish!r}"
        said.append(finding("ATT009", "", message, f"there are {there}"))
    known = [wish for wish in options if wish not in unused]
    meant = [candidate for candidate in candidates if any(_is_meant(candidate, wish) for wish in known)]
    some_ask = any(candidate.asking and candidate.possible for candidate in candidates) or bool(meant)
    if not some_ask:
        for workload in [] if options else workloads:
            _refuse_without_gpus(workload, [one for one in candidates if one.workload is workload], gpu)
        return []
    chosen = []
    for workload in workloads:
        own = [candidate for candidate in candidates if candidate.workload is workload]
        for candidate in _templates_of(own, known, gpu):
            container = _container_of(candidate, known, gpu)
            if container is None:
                continue
            if not any(_is_meant(candidate, wish) for wish in known):
                refuse_other_accelerators(container, gpu, candidate.said_one(container))
            chosen.append(Chosen(workload, candidate.template.place, container))
    return chosen


def is_any_meant(workloads: Sequence[Workload], options: Sequence[str], gpu: str | None, said: Said) -> bool:
    """Whether a container of the workloads requests `gpu` (any accelerator, where it is None), or matches a wish."""
    candidates = [candidate for workload in workloads for candidate in _candidates(workload, gpu, said)]
    meant = any(_is_meant(candidate, wish) for candidate in candidates for wish in options)
    return meant or any(candidate.asking and candidate.possible for candidate in candidates)


def _candidates(workload: Workload, gpu: str | None, said: Said) -> list[_Candidate]:
    found = []
    try:
        # The container of a TrainJob always trains: either the job or its runtime sets the number of GPUs.
        job = workload.kind.of_a_train_job
        for template in [template_of(workload)] if job else templates(workload):
            inside = tuple(containers(template.place))
            asking = tuple(container for container in inside if job or asks_for(container, gpu))
            found.append(_Candidate(workload, template, inside, asking))
    except Malformed as error:
        said.append(error.finding)
        return []
    if not found:
        message = f"there is no pod template where a {workload.kind.kind} has one"
        workload.place.refuse("ATT008", "spec", message, "add it")
    return found


def _refuse_without_gpus(workload: Workload, candidates: Sequence[_Candidate], gpu: str) -> None:
    """Record why the fabric is not attached to a workload: it requests other accelerators, or none."""
    asked = [
        refuse_other_accelerators(container, gpu, candidate.said_one(container))
        for candidate in candidates
        for container in candidate.containers
    ]
    likely = [candidate for candidate in candidates if candidate.possible] or candidates
    if likely and not any(asked):
        workload.place.refuse(
            "ATT010",
            "",
            f"nothing here asks for {gpu}, so it is not clear what trains: {'; '.join(one.said() for one in likely)}",
            f"ask for {gpu} in what does, or name it: --container {likely[-1].said_one(likely[-1].containers[0])}",
        )


def _templates_of(own: Sequence[_Candidate], options: Sequence[str], gpu: str) -> Sequence[_Candidate]:
    chosen = _select_templates(own, options, gpu)
    for entry in own:
        if chosen and entry.asking and not entry.possible and entry not in chosen:
            message = f"asks for {gpu} and is not a worker: it gets no fabric, and holds GPUs that no rank uses"
            entry.template.place.note("ATT073", "", message)
    # A launcher that is also a rank needs the fabric, even where only the workers request GPUs.
    return chosen and [entry for entry in own if entry in chosen or entry.is_worker_too]


def _select_templates(own: Sequence[_Candidate], options: Sequence[str], gpu: str) -> Sequence[_Candidate]:
    roles = [entry for entry in own if any(_is_role(entry, wish) for wish in options)]
    if roles:
        return roles
    possible = [entry for entry in own if entry.possible]
    named = [entry for entry in possible or own if any(wish in entry.names for wish in options)]
    if named:
        return named
    asking = [entry for entry in possible if entry.asking]
    for entry in possible:
        if entry not in asking and not (asking and entry.is_worker_too):
            entry.template.place.note("ATT055", "", f"asks for no {gpu}, and is left as it is")
    return asking


def _container_of(candidate: _Candidate, options: Sequence[str], gpu: str) -> Place | None:
    place = candidate.template.place
    by_role = [wish.rpartition("/")[2] for wish in options if "/" in wish and _is_role(candidate, wish)]
    names = [name for name in (*by_role, *options) if name in candidate.names]
    named = [entry for entry in candidate.containers if entry.name in names]
    if len(named) > 1:
        message = f"several of its containers are named: {', '.join(dict.fromkeys(names))}"
        place.refuse("ATT011", "spec.containers", message, "the devices of a pod go to one container: name that")
        return None
    if named:
        return named[0]
    likely = candidate.asking or candidate.containers
    if len(likely) == 1:
        return likely[0]
    fact = f"{len(likely)} containers ask for {gpu}" if candidate.asking else f"no container asks for {gpu}"
    place.refuse(
        "ATT011",
        "spec.containers",
        f"{fact}: {', '.join(entry.name for entry in likely)}",
        f"name one: --container {candidate.said().partition(',')[0]}",
    )
    return None


def _is_meant(candidate: _Candidate, wish: str) -> bool:
    return _is_role(candidate, wish) or wish in candidate.names


def _is_role(candidate: _Candidate, wish: str) -> bool:
    role, slash, name = wish.partition("/")
    if not candidate.role or role.lower() != candidate.role.lower():
        return False
    return not slash or name in candidate.names
