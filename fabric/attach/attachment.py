"""Workload manifests in, the same with the fabric attached out; as data, whatever they were written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabric.attach import train_job
from fabric.attach.choice import Chosen, choose, has_meant
from fabric.attach.kinds import Workload, workloads
from fabric.attach.place import Malformed, Place, Said, copied, shown
from fabric.attach.pod_template import Fabric, attach_template
from fabric.attach.problem import AttachError, Note
from fabric.attach.resources import gpu_resource
from fabric.k8s.cni import NETWORKS_ANNOTATION
from fabric.plan import FabricContract
from fabric.plan.contract import SchedulerHints


@dataclass(frozen=True)
class Wishes:
    """What a user says beside the manifests.

    `containers` are roles (`Worker`), containers (`trainer`) or both (`Worker/trainer`); `namespace` is that of
    documents which name none; `queue` is one of Kueue, or of Volcano for its own jobs.
    """

    containers: tuple[str, ...] = ()
    namespace: str | None = None
    queue: str | None = None


class Attached(NamedTuple):
    """The documents in their order, those without a change as equal copies; and what should be known."""

    documents: tuple[Any, ...]
    notes: tuple[Note, ...]


def attach(documents: Sequence[Any], contract: FabricContract, wishes: Wishes | None = None) -> Attached:
    """Attach the fabric to the workloads among some documents, which stay as they are.

    What is there already is never replaced: another value of a variable, a mount or a resource stays and is noted. What
    the fabric cannot work with is a problem. A second time changes nothing.

    Raises:
        AttachError: with every problem in all documents.
    """
    wishes = wishes or Wishes()
    said = Said()
    results = [copied(document) for document in documents]
    found: list[Workload] = []
    for number, content in enumerate(results, start=1):
        place = Place(content if isinstance(content, dict) else {}, "", number, said)
        if content is not None and not isinstance(content, dict):
            place.refuse("ATT005", "", "is no Kubernetes object", "correct it, or leave it out")
        elif content is not None:
            try:
                found += workloads(place)
            except Malformed as error:
                said.problems.append(error.problem)
    chosen = choose(found, wishes.containers, gpu_resource(contract), said)
    for workload in found:
        own = [entry for entry in chosen if entry.workload is workload]
        try:
            _attach_to(workload, own, contract, wishes)
        except Malformed as error:
            said.problems.append(error.problem)
    if chosen:
        said.notes += [Note("ATT061", 0, "", f"about jobs on {contract.shape}: {line}") for line in contract.advice]
    if said.problems:
        raise AttachError(sorted(said.problems, key=lambda problem: problem.document))
    return Attached(tuple(results), tuple(sorted(said.notes, key=lambda note: note.document)))


def is_for_gpus(document: Any, contract: FabricContract, wishes: Wishes | None = None) -> bool | None:
    """Whether a document is a workload with a container that asks for the stack's GPUs, or is one of the wishes.

    None where it is a workload of which that cannot be seen.
    """
    said = Said()
    found: list[Workload] = []
    try:
        found = list(workloads(Place(copied(document), "", 1, said)))
        meant = has_meant(found, (wishes or Wishes()).containers, gpu_resource(contract), said)
    except Malformed:
        return None
    return None if found and said.problems else meant


def _attach_to(workload: Workload, chosen: Sequence[Chosen], contract: FabricContract, wishes: Wishes) -> None:
    fabric = _fabric_for(workload, contract, wishes) if chosen else None
    if fabric is None:
        return
    fabric = fabric._replace(claims=_claims(workload))
    for entry in chosen:
        attach_template(entry.template, entry.container, fabric)
        if workload.kind.of_a_train_job:
            train_job.write_back(workload, entry.template)
    if wishes.queue is not None:
        _attach_queue(workload, wishes.queue)
    elif fabric.namespace in contract.namespaces:
        _suggest_queue(workload, contract.scheduler_hints)
    if workload.kind.kind == "Deployment" and contract.scheduler_hints.strategy == "Recreate":
        _attach_strategy(workload.place.made("spec"))


def _fabric_for(workload: Workload, contract: FabricContract, wishes: Wishes) -> Fabric | None:
    """What pods of a workload get in its namespace; None, with a problem, where they can get nothing there."""
    if workload.kind.cluster_wide:
        # Its pods run where the jobs that refer to it are.
        return Fabric(contract, contract.namespaces[0], contract.annotations)
    place, key = workload.place, "metadata.namespace"
    metadata = place.found("metadata")
    namespace = (None if metadata is None else metadata.text("namespace")) or wishes.namespace or "default"
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


def _claims(workload: Workload) -> frozenset[str]:
    """The names of volumes that a StatefulSet claims for each of its pods."""
    spec = workload.place.found("spec") if workload.kind.kind == "StatefulSet" else None
    metadata = [] if spec is None else [claim.found("metadata") for claim in spec.entries("volumeClaimTemplates")]
    return frozenset(name for place in metadata if place is not None and (name := place.text("name")))


def _attach_queue(workload: Workload, queue: str) -> None:
    if not workload.kind.queue:
        message = f"a {workload.kind.kind} has no queue"
        workload.place.refuse("ATT013", "", message, "leave --queue out, or put it in another file")
        return
    place, last = _queue_place(workload)
    own = place.content.setdefault(last, queue)
    if own != queue:
        place.refuse("ATT013", last, f"is {shown(own)} already, not {queue!r}", "remove it, or leave --queue out")


def _suggest_queue(workload: Workload, hints: SchedulerHints) -> None:
    """The queue that the kind's scheduler has for the fabric's jobs; one that is written stays."""
    keeper = workload.kind.queue_keeper
    queue = None if keeper is None else hints.queue_of(keeper)
    if queue is None:
        return
    place, last = _queue_place(workload)
    own = place.content.setdefault(last, queue)
    if own != queue:
        place.note("ATT051", last, f"keeps {shown(own)}; the fabric's queue is {shown(queue)}")


def _queue_place(workload: Workload) -> tuple[Place, str]:
    """The mapping that names the queue, and under which key."""
    *folders, last = workload.kind.queue
    place = workload.place
    for key in folders:
        place = place.made(key)
    return place, last


def _attach_strategy(spec: Place) -> None:
    """A new pod would wait for the devices that an old one holds, unless the old one goes first."""
    strategy = spec.made("strategy")
    kind = strategy.content.setdefault("type", "Recreate" if not strategy.content else "RollingUpdate")
    rolling = strategy.found("rollingUpdate")
    surge = None if rolling is None else rolling.content.get("maxSurge")
    if kind == "RollingUpdate" and surge not in (0, "0", "0%"):
        message = "keeps 'RollingUpdate': a new pod waits for the devices of an old one; write Recreate"
        strategy.note("ATT059", "type", message)
