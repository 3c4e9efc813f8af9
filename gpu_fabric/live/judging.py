"""Every judge of a live cluster, in the order in which their findings are shown and damages are mended.

A judge is called in its phases, and the rule book says in which a rule counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import NamedTuple

from gpu_fabric.findings import Finding, Phase, rules
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.permissions import unread
from gpu_fabric.live.stack import Stack

BEFORE_AND_DAMAGE: tuple[Phase, ...] = ("before", "damage")
"""The phases of what an ended run or operator leaves behind."""


class Judge(NamedTuple):
    """A function of a module of this folder, which is imported where it is asked, and its phases.

    `protects` what others have on the cluster: such a judge is asked by every run of a stack that shares its cluster.
    """

    module: str
    function: str
    phases: tuple[Phase, ...]
    protects: bool = False

    def findings(self, case: Examination) -> Iterator[Finding]:
        """What it finds in a case, of rules that count in the case's phase."""
        function = getattr(import_module(f"gpu_fabric.live.{self.module}"), self.function)
        found = (entry for entry in function(case) if case.phase in rules()[entry.id].phases)
        return map(partial(_with_doctor, case), found) if self.phases == BEFORE_AND_DAMAGE else found


def _with_doctor(case: Examination, found: Finding) -> Finding:
    """A finding of what the command `doctor` judges as well: before `up` that mends it, and not the command at work."""
    if case.phase == "damage":
        return found
    by_doctor = f"{found.remedy}; `gpu-fabric doctor -s {case.stack.plan.stack}` names and mends it"
    return found.model_copy(update={"remedy": by_doctor, "steps": (), "is_own": False})


# Of damages, what blocks writing comes first, then what blocks deletion.
JUDGES = (
    Judge("changed_objects", "object_drift", ("after",)),
    Judge("release_contents", "release_drift", ("after",)),
    Judge("addresses", "address_drift", ("after",)),
    Judge("offers", "node_drift", ("after",)),
    Judge("versions", "version_differences", ("before", "after")),
    Judge("software", "software_differences", ("before",)),
    Judge("existing_objects", "objects_of_others", ("before", "after"), protects=True),
    Judge("sharing", "policy_differences", ("before",), protects=True),
    Judge("definitions", "expected_definitions", ("before",), protects=True),
    Judge("admission", "silent_webhooks", BEFORE_AND_DAMAGE),
    Judge("admission", "unavailable_apis", BEFORE_AND_DAMAGE),
    Judge("definitions", "unusable_definitions", BEFORE_AND_DAMAGE),
    Judge("definitions", "foreign_definitions", ("before",)),
    Judge("existing_objects", "object_differences", ("before",)),
    Judge("deletions", "deleted_objects", BEFORE_AND_DAMAGE),
    Judge("deletions", "deleted_namespaces", BEFORE_AND_DAMAGE),
    Judge("namespaces", "namespace_differences", ("before",)),
    Judge("pool_nodes", "node_differences", ("before", "after")),
    Judge("node_marks", "node_damages", ("damage",)),
    Judge("runtimes", "runtime_differences", ("before",)),
    Judge("clouds", "cloud_differences", ("before", "after")),
    Judge("devices", "device_differences", ("before", "after")),
    Judge("device_drivers", "driver_differences", ("before", "after")),
    Judge("device_drivers", "published_drift", ("after",)),
    Judge("closed_rails", "taint_rule_differences", ("before",)),
    Judge("ranges", "range_differences", ("before", "after")),
    Judge("admission", "standing_webhooks", ("before",)),
    Judge("admission", "policy_bindings", ("before",)),
    Judge("permissions", "permission_differences", ("before",)),
    Judge("network", "network_differences", ("before", "after")),
    Judge("addresses", "state_drift", ("after",)),
    Judge("pods", "refused_pod_damages", ("damage",)),
    Judge("pods", "unready_pod_damages", ("damage",)),
    Judge("changed_objects", "conflicting_fields", ("damage",)),
    Judge("claims", "claim_damages", ("damage",)),
    Judge("closed_rails", "closed_rails", ("damage",)),
)


def judged(case: Examination, *, protecting: bool = False) -> tuple[Finding, ...]:
    """What every judge of a case's phase finds, or those alone that protect what others have."""
    asked = [judge for judge in JUDGES if case.phase in judge.phases and (judge.protects or not protecting)]
    return tuple(entry for judge in asked for entry in judge.findings(case))


def differences(stack: Stack, cluster: Cluster) -> tuple[Finding, ...]:
    """What stands between a plan and a cluster, by subject; nothing where `up` finds what it expects.

    What the stack has written in the cluster does not count.
    """
    return (*judged(Examination(stack, cluster, phase="before")), *unread(cluster))
