"""What has changed since `up`, and what is damaged: judged by commands, and not by `up`."""

from __future__ import annotations

from gpu_fabric.findings import Finding, Seen, Severity, finding
from gpu_fabric.live.changed_objects import is_up
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.judging import judged
from gpu_fabric.live.offers import offer_damages
from gpu_fabric.live.permissions import unread
from gpu_fabric.live.release_records import creation_damages, release_damages
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.state import state_damages
from gpu_fabric.spec.places import dotted


def drift(stack: Stack, cluster: Cluster, overdue: str) -> tuple[Finding, ...]:
    """What differs between a stack that was up and its cluster, by subject; nothing where all is as `up` left it.

    What software keeps for a while, until a time at or after `overdue`, is a note.
    """
    case = Examination(stack, cluster, phase="after", overdue=overdue)
    if is_up(case.stack, cluster):
        found = judged(case)
    else:
        seen = Seen(object="objects of the plan", value="none exists")
        found = (finding("DRI009", dotted(("cluster", "provider")), seen=seen),)
    return (*found, *unread(cluster))


def run_damages(case: Examination) -> tuple[Finding, ...]:
    """What an interrupted run left: locks, releases, and operations without an outcome."""
    locks_and_operations = () if case.state is None else tuple(state_damages(case.state))
    locks = [entry for entry in locks_and_operations if entry.id != "DOC002"]
    operations = [entry for entry in locks_and_operations if entry.id == "DOC002"]
    return (*locks, *release_damages(case), *creation_damages(case), *operations)


def damages(case: Examination) -> tuple[Finding, ...]:
    """Everything that is damaged; nothing where a run finds what it expects."""
    of_runs = run_damages(case)
    locks = [entry for entry in of_runs if entry.id in ("DOC001", "DOC003")]
    others = [entry for entry in of_runs if entry not in locks]
    in_cluster = judged(case)
    if case.state is not None and case.state.is_busy:
        # What a run is just deleting or installing looks the same.
        in_cluster = tuple(entry.model_copy(update={"steps": (), "is_own": False}) for entry in in_cluster)
    # What a node lacks follows from any of these.
    found = (*locks, *in_cluster, *others)
    if all(entry.severity is Severity.NOTE for entry in found):
        found = (*found, *offer_damages(case))
    return (*found, *unread(case.cluster))
