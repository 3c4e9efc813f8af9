"""Checks of the group `fabric_check`: the check of the rails has rails to look at, and leaves jobs their devices."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted

_CHECK = dotted(("fabric", "check"))
_REMEDIES = {
    "virtual": "write vfsPerNic: 2 or more, of which one is the check's, or leave check out",
    "shared": "write podsPerNic: 2 or more, of which one is the check's, or leave check out",
}


@check("CHK001")
def the_check_has_rails(case: Case) -> Iterator[Problem]:
    """The rails are checked only where pods attach to them."""
    if case.spec.fabric.check is not None and case.choices.model == "host-network":
        yield Problem(_CHECK, "it has no effect: pods on the host's network attach to no rail", "leave it out")


@check("CHK002")
def the_check_leaves_jobs_their_devices(case: Case) -> Iterator[Problem]:
    """The pod that checks a node's rails leaves a device of every rail for jobs."""
    row = case.choices.row
    if case.spec.fabric.check is None or row is None or row.access == "host" or case.pods_per_nic > 1:
        return
    yield Problem(
        _CHECK,
        f"with the model {row.model} a NIC serves one pod at a time here, and the check's pod would hold every rail of "
        "every node",
        _REMEDIES.get(row.access, "leave it out: in this model a pod has whole NICs"),
    )
