"""Attach the fabric to workload manifests as data, and detach it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gpu_fabric.attach import argo
from gpu_fabric.attach.choice import Chosen, choose, is_any_meant, write_back
from gpu_fabric.attach.devices import gpu_resource, refuse_uncounted_claims
from gpu_fabric.attach.kinds import Workload, containers, templates, volumes_of_all, workloads
from gpu_fabric.attach.libraries import (
    Recognised,
    library_environment,
    recognised_libraries,
    refuse_unknown_libraries,
)
from gpu_fabric.attach.place import AttachError, Malformed, Place, Said, deep_copy, display
from gpu_fabric.attach.pod_template import Fabric, attach_template
from gpu_fabric.attach.racks import in_rack
from gpu_fabric.attach.stamp import (
    STAMP,
    copy_without_additions,
    holder_of,
    new_stamps,
    root_of,
    stamp_of,
    stamped_templates,
    update_additions,
    write_stamps,
)
from gpu_fabric.attach.variables import excluded_beside, note_harmful_variables
from gpu_fabric.base.enumeration import quantity
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import Finding, errors, finding
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, QUEUE_LABEL

_ONE_AFTER_THE_OTHER = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
_A_LITTLE = "100m"


@dataclass(frozen=True)
class AttachOptions:
    """The user's options.

    `containers` are roles (`Worker`), containers (`trainer`) or both (`Worker/trainer`). `namespace` is the default for
    documents without one. `queue` is a queue of Kueue, or of Volcano for its own jobs. `skipped` are kinds to leave
    unchanged. `stamped` records the additions in each pod template, so that they can be detached; a template that has a
    stamp keeps one in any case. `claim` is the size of the pods' claims, `rack` the rack whose channel they claim, or
    `none`. `libraries` are those other than NCCL by which the workloads send, instead of those that are recognised;
    `none` is for none.
    """

    containers: tuple[str, ...] = ()
    namespace: str | None = None
    queue: str | None = None
    skipped: tuple[str, ...] = ()
    stamped: bool = False
    claim: str | None = None
    rack: str | None = None
    libraries: tuple[str, ...] = ()

    @property
    def lasting(self) -> dict[str, Any]:
        """Those that a later attach takes over from the stamp."""
        return {"queue": self.queue, "claim": self.claim, "rack": self.rack, "libraries": self.libraries}


class Attached(NamedTuple):
    """All documents in their order, unchanged ones as equal copies; and notes for the user."""

    documents: tuple[Any, ...]
    notes: tuple[Finding, ...]


def attach(documents: Sequence[Any], contract: FabricContract, options: AttachOptions | None = None) -> Attached:
    """Attach the fabric to the workloads in copies of the documents.

    Existing values are never replaced: a different value of a variable, a mount or a resource stays and is noted. A
    value that the fabric cannot work with is a problem. The operation is idempotent.

    Raises:
        AttachError: with every problem in all documents.
    """
    options = options or AttachOptions()
    said: Said = []
    refuse_unknown_libraries(options.libraries, said)
    results = [deep_copy(document) for document in documents]
    found: list[Workload] = []
    for number, content in enumerate(results, start=1):
        place = Place(content if isinstance(content, dict) else {}, "", number, said)
        if content is not None and not isinstance(content, dict):
            place.refuse("ATT005", "", "is not a Kubernetes object", "correct it, or leave it out")
        elif content is not None:
            try:
                found += workloads(place, options.skipped)
            except Malformed as error:
                said.append(error.finding)
    if contract.claims and contract.scheduler_hints.scheduler == "kueue":
        for number, content in enumerate(results, start=1):
            refuse_uncounted_claims(Place(content if isinstance(content, dict) else {}, "", number, said))
    try:
        chosen = choose(found, options.containers, gpu_resource(contract), said)
    except Malformed as error:
        said.append(error.finding)
        chosen = []
    for workload in found:
        own = [entry for entry in chosen if entry.workload is workload]
        try:
            _attach_to(workload, own, contract, options)
        except Malformed as error:
            said.append(error.finding)
    if results and not (found or said):
        said.append(
            finding("ATT075", message="nothing was attached: no workload of a kind that gets the fabric is here")
        )
    if chosen:
        said += [finding("ATT061", "", f"about jobs on {contract.shape}: {line}") for line in contract.advice]
    said.sort(key=lambda entry: entry.document)
    if problems := errors(dict.fromkeys(said)):
        raise AttachError(problems)
    return Attached(tuple(results), tuple(said))


def detach(documents: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of the documents without the fabric's additions; values that were changed afterwards stay.

    Raises:
        AttachError: with every stamp that cannot be read.
    """
    said: Said = []
    results = [deep_copy(document) for document in documents]
    for number, content in enumerate(results, start=1):
        for root in _roots(content):
            place = Place(root, "", number, said)
            for template, stamp in [(one, stamp_of(one)) for one in stamped_templates(root, place)]:
                if stamp is not None:
                    stamp.remove(root, template.content)
                    template.seen("metadata").seen("annotations").content.pop(STAMP, None)
    if problems := errors(said):
        raise AttachError(problems)
    return tuple(results)


def is_for_gpus(document: Any, contract: FabricContract | None, options: AttachOptions | None = None) -> bool | None:
    """Whether a document is a workload with a container that requests the stack's GPUs or matches a wish.

    Without a contract, any accelerators count. None if it is a workload for which this cannot be determined.
    """
    said: Said = []
    found: list[Workload] = []
    try:
        options = options or AttachOptions()
        found = list(workloads(Place(deep_copy(document), "", 1, said), options.skipped))
        gpu = None if contract is None else gpu_resource(contract)
        meant = is_any_meant(found, options.containers, gpu, said)
    except Malformed:
        return None
    return None if found and errors(said) else meant


def reason_of_unknown_kind(document: Any, options: AttachOptions | None = None) -> Finding | None:
    """Why `attach` would refuse a document as a whole: it creates pods or requests GPUs, but its kind is not known."""
    said: Said = []
    try:
        list(workloads(Place(deep_copy(document), "", 0, said), (options or AttachOptions()).skipped))
    except Malformed:
        return None
    return next((problem for problem in said if problem.id in ("ATT006", "ATT007")), None)


def _attach_to(workload: Workload, chosen: Sequence[Chosen], contract: FabricContract, options: AttachOptions) -> None:
    fabric = _fabric_for(workload, contract, options) if chosen else None
    if fabric is None:
        return
    if options.claim is not None and options.claim not in [claim.size for claim in contract.claims]:
        sizes = " or ".join(claim.size for claim in contract.claims)
        remedy = f"write --claim {sizes}" if sizes else "leave --claim out"
        workload.place.refuse("ATT032", "", f"the stack has no claims of the size {options.claim}", remedy)
        return
    old = [stamp_of(holder_of(entry)) for entry in chosen]
    rack = options.rack or next((one.rack for one in old if one and one.rack), None)
    of_pods = in_rack(workload, chosen, contract, fabric.namespace, rack)
    others = tuple(domain.template for domain in contract.domains if domain not in of_pods.domains)
    fabric = fabric._replace(
        contract=of_pods, claims=frozenset(volumes_of_all(workload)), size=options.claim, other_racks=others
    )
    if not any(old):
        before = deep_copy(root_of(workload).content)
        _write(workload, chosen, fabric, options)
        if options.stamped and before != root_of(workload).content:
            write_stamps(chosen, new_stamps(before, chosen, contract, options.lasting))
        return
    options = replace(
        options,
        queue=options.queue or next((one.queue for one in old if one and one.queue), None),
        claim=options.claim or next((one.claim for one in old if one and one.claim), None),
        rack=rack,
        libraries=options.libraries or next((one.libraries for one in old if one and one.libraries), ()),
    )
    fabric = fabric._replace(size=options.claim)
    twin = copy_without_additions(chosen, old, options.skipped)
    before = deep_copy(root_of(twin[0].workload).content)
    _write(twin[0].workload, twin, fabric, options)
    if problems := errors(twin[0].workload.place.said):
        workload.place.said.extend(problems)
        return
    new = new_stamps(before, twin, contract, options.lasting)
    current = update_additions(chosen, old, new)
    _write(workload, current, fabric, options)
    write_stamps(current, new)


def _write(workload: Workload, chosen: Sequence[Chosen], fabric: Fabric, options: AttachOptions) -> None:
    contract = fabric.contract
    patched = [entry.template for entry in chosen] if workload.kind.of_a_train_job else None
    for template in patched or [one.place for one in templates(workload)]:
        note_harmful_variables(template, contract, workload.kind.kind)
    for entry in chosen:
        before = _state(entry.template, entry.container)
        recognised = [] if options.libraries else recognised_libraries(workload.kind.kind, entry.container)
        more = library_environment(contract, options.libraries or [library for library, _ in recognised])
        own = excluded_beside([str(one.content.get("name")) for one in entry.container.entries("env")])
        more = {name: value for name, value in more.items() if name not in own}
        attach_template(entry.template, entry.container, fabric._replace(more=more))
        now = _state(entry.template, entry.container)
        _note_additions(before, now, entry.container, contract)
        if before.variables != now.variables or not contract.libraries:
            _note_libraries(entry.container, recognised, contract)
        argo.note_later_fields(entry.template)
        if workload.kind.of_a_train_job:
            write_back(workload, entry.template)
    if options.queue is not None:
        _attach_queue(workload, chosen, options.queue)
    elif fabric.namespace in contract.namespaces:
        _suggest_queue(workload, chosen, fabric)
    if options.queue is not None or contract.scheduler_hints.annotations:
        _add_small_request(workload)
    if workload.kind.note is not None:
        workload.place.note("ATT071", "spec", workload.kind.note)
    if workload.kind.kind == "Deployment":
        _attach_strategy(workload.place.made("spec"))


def _note_libraries(container: Place, recognised: Sequence[Recognised], contract: FabricContract) -> None:
    """Note the libraries whose settings a container gets without having been asked for."""
    if not recognised:
        return
    signs = " and ".join(f"{library} ({sign})" for library, sign in recognised)
    if not contract.libraries:
        message = (
            f"{container.name} is taken to use {signs}, and the contract has no settings of libraries: print it again"
        )
    else:
        message = f"{container.name} is taken to use {signs} and gets their settings; --library none leaves them out"
    container.note("ATT077", "", message)


def _fabric_for(workload: Workload, contract: FabricContract, options: AttachOptions) -> Fabric | None:
    """The fabric for pods in the workload's namespace; None, with a problem, if it is not offered there."""
    if workload.kind.cluster_wide:
        # Its pods run in the namespaces of the jobs that refer to it.
        return Fabric(contract, contract.namespaces[0], contract.annotations)
    place, key = workload.place, "metadata.namespace"
    outer = None if workload.wrapper is None else workload.wrapper.seen("metadata").text("namespace")
    namespace = place.seen("metadata").text("namespace") or outer or options.namespace or "default"
    if namespace in contract.namespaces:
        return Fabric(contract, namespace, contract.annotations)
    if contract.networks_from_elsewhere:
        home, networks = next(iter(contract.networks_from_elsewhere.items()))
        place.note("ATT056", key, f"takes the networks of {home} into {namespace}, where the fabric's files are not")
        annotations = {**contract.annotations, NETWORKS_ANNOTATION: networks}
        return Fabric(contract, namespace, annotations, with_files=False)
    offered = " or ".join(contract.namespaces)
    place.refuse(
        "ATT012",
        key,
        f"the fabric is not offered in {namespace}",
        f"use {offered} (in the manifest, or with -n), or add {namespace} to fabric.namespaces of the stack",
    )
    return None


def _attach_queue(workload: Workload, chosen: Sequence[Chosen], queue: str) -> None:
    if not workload.kind.queue and workload.wrapper is None:
        message = f"a {workload.kind.kind} has no queue"
        workload.place.refuse("ATT013", "", message, "leave --queue out, or put it in another file")
        return
    for place, last in _queue_places(workload, chosen):
        own = place.content.setdefault(last, queue)
        if own != queue:
            place.refuse("ATT013", last, f"is {display(own)} already, not {queue!r}", "remove it, or leave --queue out")


def _suggest_queue(workload: Workload, chosen: Sequence[Chosen], fabric: Fabric) -> None:
    """Set the queue of the kind's scheduler for jobs of the namespace; a queue that the user set stays."""
    keeper = workload.kind.queue_keeper
    queue = None if keeper is None else fabric.contract.queue_of(keeper, fabric.namespace)
    if queue is None:
        return
    for place, last in _queue_places(workload, chosen):
        own = place.content.setdefault(last, queue)
        if own != queue:
            place.note("ATT051", last, f"keeps {display(own)}; the fabric's queue is {display(queue)}")


def _queue_places(workload: Workload, chosen: Sequence[Chosen]) -> Iterator[tuple[Place, str]]:
    """The mappings and keys that name the queue: each step of a workflow is queued separately."""
    if workload.wrapper is not None:
        yield workload.wrapper.made("metadata").made("labels"), QUEUE_LABEL
        return
    *folders, last = workload.kind.queue
    for place in [entry.template for entry in chosen] if workload.kind.steps else [workload.place]:
        for key in folders:
            place = place.made(key)
        yield place, last


def _add_small_request(workload: Workload) -> None:
    """Add a small request to pods without requests: Kueue with a topology never admits them."""
    if (
        workload.kind.of_a_train_job
        or workload.kind.steps
        or (workload.kind.queue_keeper != "kueue" and workload.wrapper is None)
    ):
        return
    for template in templates(workload):
        inside = containers(template.place)
        resources = [container.seen("resources") for container in inside]
        if not any(one.seen(side).content for one in resources for side in ("requests", "limits")):
            inside[0].made("resources").made("requests").content["cpu"] = _A_LITTLE
            message = f"asks for nothing, which Kueue never admits where it knows a topology: gets {_A_LITTLE} of a CPU"
            inside[0].note("ATT069", "resources", message)


def _attach_strategy(spec: Place) -> None:
    """Delete an old pod before its replacement starts: the new pod would wait for the devices of the old one.

    Not `Recreate`: the API server defaults `rollingUpdate` in a running Deployment, and then refuses `Recreate` in a
    server-side apply.
    """
    strategy = spec.made("strategy")
    if not strategy.content:
        strategy.content.update(deep_copy(_ONE_AFTER_THE_OTHER))
        return
    kind = strategy.content.setdefault("type", "RollingUpdate")
    if kind == "RollingUpdate" and strategy.seen("rollingUpdate").content.get("maxSurge") not in (0, "0", "0%"):
        message = "keeps 'RollingUpdate': a new pod waits for the devices of an old one; write maxSurge: 0"
        strategy.note("ATT059", "type", message)


class _State(NamedTuple):
    """A pod template, and its parts to which the fabric adds."""

    content: Any
    networks: Any
    devices: frozenset[str]
    variables: int
    mounts: int
    claims: int


def _note_additions(before: _State, now: _State, container: Place, contract: FabricContract) -> None:
    """Note in one line what was added to a pod template; nothing if it is unchanged."""
    if before.content == now.content:
        return
    gpu, new = gpu_resource(contract), now.devices - before.devices
    parts = [f"{contract.resources[gpu]} {gpu}, for which it did not ask"] if gpu in new else []
    if before.claims != now.claims:
        parts.append("a claim")
    if before.networks != now.networks:
        parts.append(f"{len(contract.networks)} networks")
    for count, what in (
        (sum(name in contract.devices for name in new - {gpu}), "device"),
        (now.variables - before.variables, "variable"),
        (now.mounts - before.mounts, "mount"),
    ):
        if count:
            parts.append(quantity(count, what))
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]])) or "what its pod lacked"
    container.note("ATT063", "", f"{container.name} gets the fabric: {listed}")


def _state(template: Place, container: Place) -> _State:
    resources = container.seen("resources")
    asked = {**resources.seen("requests").content, **resources.seen("limits").content}
    return _State(
        deep_copy(template.content),
        template.seen("metadata").seen("annotations").content.get(NETWORKS_ANNOTATION),
        frozenset(map(str, asked)),
        len(container.values("env")),
        len(container.values("volumeMounts")),
        len(resources.values("claims")),
    )


def _roots(content: Any) -> Iterator[dict[str, Any]]:
    items = content.get("items") if isinstance(content, dict) else None
    if isinstance(items, list):
        for item in items:
            yield from _roots(item)
    elif isinstance(content, dict):
        yield content
