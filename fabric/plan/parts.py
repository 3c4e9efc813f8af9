"""The plan of one of two stacks: a cluster's without what lies on it, a platform's without what the cloud makes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fabric.plan.case import Case
from fabric.plan.cluster_contract import cluster_facts
from fabric.plan.cost import PlannedCost
from fabric.plan.plan import Plan, PlannedSplit
from fabric.rules import Finding
from fabric.spec import ExistingCluster, StackSpec
from fabric.spec.parts import PLATFORM_SECTIONS
from fabric.spec.places import within_section

_NO_COST = PlannedCost(pools=(), known=(), total=None)


def of_part(spec: StackSpec, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings without those on sections that a stack of this part has not: they are about what it does not make."""
    if spec.split.part != "cluster":
        return tuple(found)
    return tuple(entry for entry in found if not any(within_section(entry.path, name) for name in PLATFORM_SECTIONS))


def part_plan(case: Case, plan: Plan) -> Plan:
    """The plan with the part alone that the stack makes; the whole of it where it makes all."""
    part, cluster = case.spec.split.part, case.spec.cluster
    if part == "all" or isinstance(cluster, ExistingCluster):
        return plan
    split = PlannedSplit(
        part=part,
        cluster_stack=case.spec.cluster_stack,
        organization=case.spec.split.organization,
        cluster=cluster_facts(case, cluster),
    )
    if part == "platform":
        of_platform = plan.cluster.model_copy(update={"doks": None, "oke": None})
        return plan.model_copy(update={"split": split, "cluster": of_platform, "cost": _NO_COST})
    return _without_platform(plan).model_copy(update={"split": split})


def _without_platform(plan: Plan) -> Plan:
    """The plan with nothing that is applied to the cluster, and no files for jobs."""
    fields = list(Plan.model_fields)
    applied = fields[fields.index("namespaces") : fields.index("workload")]
    nothing = {name: _nothing(getattr(plan, name)) for name in applied}
    files: dict[str, Any] = {"files": (), "environment": {}, "verification_environment": {}}
    carried = {"networks": (), "annotations": {}, "resources": {}, "pod_template_patch": {}, **files}
    return plan.model_copy(
        update={
            **nothing,
            "rails": (),
            "nccl": plan.nccl.model_copy(update={**files, "settings": ()}),
            "workload": plan.workload.model_copy(update=carried),
        }
    )


def _nothing(value: object) -> tuple[()] | bool | None:
    if isinstance(value, tuple):
        return ()
    return False if isinstance(value, bool) else None
