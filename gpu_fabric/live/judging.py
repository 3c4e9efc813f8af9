"""Every judge of a live cluster, in the order in which their findings are shown and damages are mended.

A judge is called in its phases, and the rule book says in which a rule counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import NamedTuple

from gpu_fabric.findings import Finding, Phase, Seen, finding, rules
from gpu_fabric.live.account import Ask
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.permissions import unread
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan import Plan
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack import StackSpec

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
    Judge("devices", "device_differences", ("before", "after")),
    Judge("ranges", "range_differences", ("before", "after")),
    Judge("admission", "standing_webhooks", ("before",)),
    Judge("admission", "policy_bindings", ("before",)),
    Judge("permissions", "permission_differences", ("before",)),
    Judge("network", "network_differences", ("before", "after")),
    Judge("addresses", "state_drift", ("after",)),
    Judge("pods", "refused_pod_damages", ("damage",)),
    Judge("pods", "unready_pod_damages", ("damage",)),
    Judge("changed_objects", "conflicting_fields", ("damage",)),
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


def drift(stack: Stack, cluster: Cluster, overdue: str) -> tuple[Finding, ...]:
    """What differs between a stack that was up and its cluster, by subject; nothing where all is as `up` left it.

    What software keeps for a while, until a time at or after `overdue`, is a note.
    """
    # Here, since `up` asks for no drift.
    from gpu_fabric.live.changed_objects import is_up

    case = Examination(stack, cluster, phase="after", overdue=overdue)
    if is_up(case.stack, cluster):
        found = judged(case)
    else:
        seen = Seen(object="objects of the plan", value="none exists")
        found = (finding("DRI009", dotted(("cluster", "provider")), seen=seen),)
    return (*found, *unread(cluster))


def account_differences(spec: StackSpec, plan: Plan, ask: Ask) -> Iterator[Finding]:
    """What an account lacks of a plan that creates a cluster in it; nothing for a cluster that exists."""
    # A cloud's module is imported only for stacks of that cloud.
    if isinstance(spec.cluster, DoksClusterSpec):
        from gpu_fabric.live.doks_account import doks_differences

        yield from doks_differences(Stack(spec, plan), spec.cluster, ask)
    elif isinstance(spec.cluster, OkeClusterSpec):
        from gpu_fabric.live.oke_account import oke_differences

        assert plan.cluster.oke is not None, "the plan of a cluster at Oracle"
        yield from oke_differences(spec.cluster, plan.cluster.oke.identity, ask)


def run_damages(case: Examination) -> tuple[Finding, ...]:
    """What an interrupted run left: locks, releases, and operations without an outcome."""
    # Here, since `up` asks for no damages.
    from gpu_fabric.live.release_records import creation_damages, release_damages
    from gpu_fabric.live.state import state_damages

    locks_and_operations = () if case.state is None else tuple(state_damages(case.state))
    locks = [entry for entry in locks_and_operations if entry.id != "DOC002"]
    operations = [entry for entry in locks_and_operations if entry.id == "DOC002"]
    return (*locks, *release_damages(case), *creation_damages(case), *operations)


def damages(case: Examination) -> tuple[Finding, ...]:
    """Everything that is damaged; nothing where a run finds what it expects."""
    from gpu_fabric.live.offers import offer_damages

    of_runs = run_damages(case)
    locks = [entry for entry in of_runs if entry.id in ("DOC001", "DOC003")]
    others = [entry for entry in of_runs if entry not in locks]
    in_cluster = judged(case)
    if case.state is not None and case.state.is_busy:
        # What a run is just deleting or installing looks the same.
        in_cluster = tuple(entry.model_copy(update={"steps": (), "is_own": False}) for entry in in_cluster)
    # What a node lacks follows from any of these.
    found = (*locks, *in_cluster, *others) or tuple(offer_damages(case))
    return (*found, *unread(case.cluster))
