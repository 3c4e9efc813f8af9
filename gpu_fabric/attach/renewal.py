"""Update manifests that were attached before: additions that the stack no longer needs are removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpu_fabric.attach.choice import Chosen
from gpu_fabric.attach.difference import STAMP, Added, difference, pointer_to, take_out
from gpu_fabric.attach.kinds import Workload, containers, templates, workloads
from gpu_fabric.attach.place import Place, Said, copied
from gpu_fabric.attach.stamp import Stamp, digest
from gpu_fabric.attach.train_job import patched_template, template_of
from gpu_fabric.contract import FabricContract

_MOST_NAMES = 6


def root_of(workload: Workload) -> Place:
    """The outermost document of a workload: its wrapper, or the workload itself."""
    return workload.wrapper or workload.place


def holder_of(entry: Chosen) -> Place:
    """The pod template whose annotations contain the stamp; for a TrainJob, that of our patch, or an empty one."""
    template = entry.template
    if not entry.workload.kind.of_a_train_job:
        return template
    return patched_template(entry.workload) or Place({}, template.path, template.document, template.said)


def stamps(before: object, chosen: Sequence[Chosen], contract: FabricContract, queue: str | None) -> list[Stamp]:
    """The stamps of the pod templates of one document after an attach; `before` is the document before it."""
    root, holders = root_of(chosen[0].workload).content, [holder_of(entry) for entry in chosen]
    for holder in holders:
        holder.made("metadata").made("annotations").content[STAMP] = ""
    added = difference(before, root)
    # A holder that is assembled from parts of the document is not a mapping in it, so it has no pointer.
    places = [pointer_to(root, holder.content) for holder in holders]
    around, mark = added.outside([place for place in places if place is not None]), digest(contract)
    own = [Stamp(mark, Added() if place is None else added.below(place), Added(), queue) for place in places]
    return [own[0]._replace(around=around), *own[1:]]


def put(chosen: Sequence[Chosen], written: Sequence[Stamp]) -> None:
    """Write a stamp into each pod template."""
    for entry, stamp in zip(chosen, written, strict=True):
        holder_of(entry).made("metadata").made("annotations").content[STAMP] = str(stamp)


def stripped(chosen: Sequence[Chosen], old: Sequence[Stamp | None], skipped: Sequence[str]) -> list[Chosen]:
    """The same containers in a copy of their document without the additions that their stamps record."""
    first = chosen[0].workload
    outer = root_of(first)
    place = Place(copied(outer.content), outer.path, outer.document, Said())
    twin = next(one for one in workloads(place, skipped) if one.place.path == first.place.path)
    there = [_again(entry, twin) for entry in chosen]
    for entry, stamp in zip(there, old, strict=True):
        if stamp is not None:
            stamp.take_out(place.content, holder_of(entry).content)
    return [_again(entry, twin) for entry in chosen]


def bring_up_to_date(chosen: Sequence[Chosen], old: Sequence[Stamp | None], new: Sequence[Stamp]) -> list[Chosen]:
    """Remove from a document the additions of its old stamps that its new ones lack; returns the containers in it."""
    first = chosen[0].workload
    for entry, before, after in zip(chosen, old, new, strict=True):
        if before is None:
            continue
        take_out(holder_of(entry).content, before.own.without(after.own))
        take_out(root_of(first).content, before.around.without(after.around))
        names = Counter([*before.own.names(), *before.around.names()])
        gone = [*dict.fromkeys((names - Counter([*after.own.names(), *after.around.names()])).elements())]
        if gone:
            more = f" and {len(gone) - _MOST_NAMES} more" if len(gone) > _MOST_NAMES else ""
            listed = ", ".join(gone[:_MOST_NAMES])
            entry.container.note("ATT070", "", f"loses what was added and is not asked for any more: {listed}{more}")
    return [_again(entry, first) for entry in chosen]


def _again(entry: Chosen, workload: Workload) -> Chosen:
    """The same container, looked up in another state of its document."""
    if workload.kind.of_a_train_job:
        template = template_of(workload).place
    else:
        template = next(one.place for one in templates(workload) if one.place.path == entry.template.path)
    inside = [one.path for one in containers(entry.template)]
    return Chosen(workload, template, containers(template)[inside.index(entry.container.path)])
