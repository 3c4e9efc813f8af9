"""What the next `up` would end or wait on: fields that another client holds, nodes that do not offer their devices."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.findings import Finding, Seen, finding, rules
from gpu_fabric.live.changed_objects import conflicts, way_past
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.offers import lacking_offers
from gpu_fabric.spec.places import dotted


def conflict_damages(case: Examination) -> Iterator[Finding]:
    """Objects of the stack with a field that Pulumi would not overwrite."""
    if case.purpose == "destroy":
        return
    for name, path, author, manager in conflicts(case.stack, case.cluster):
        yield finding(
            "DOC072",
            "",
            f"{manager} has written {path} of {name}, and the stack writes another value",
            way_past(manager, name),
            seen=Seen(object=name, field=path, value=author),
        )


def offer_damages(case: Examination) -> Iterator[Finding]:
    """Nodes of a stack that was up which offer fewer GPUs or devices than a job takes."""
    if case.purpose == "destroy" or not case.stack.has_been_up(case.cluster):
        return
    for fabric, seen, words in lacking_offers(case.stack, case.cluster):
        yield finding("DOC073", dotted(fabric.in_fabric("rails")), words, rules()["DRI030"].remedy, seen=seen)
