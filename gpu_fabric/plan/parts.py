"""The plan of one of two stacks: the cluster without its software, or the software without cloud resources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpu_fabric.contract.cluster import ClusterFacts, SharedPool
from gpu_fabric.findings import Finding
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.cost import PlannedCost
from gpu_fabric.plan.other_pools import other_nodes
from gpu_fabric.plan.plan import Plan, PlannedSplit
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.parts import PLATFORM_SECTIONS
from gpu_fabric.spec.places import within_section
from gpu_fabric.spec.stack import StackSpec

_NO_COST = PlannedCost(pools=(), known=(), total=None)


def findings_of_part(spec: StackSpec, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings without those on sections that a stack of this part has not: they are about what it does not make."""
    if spec.split.part != "cluster":
        return tuple(found)
    return tuple(entry for entry in found if not any(within_section(entry.path, name) for name in PLATFORM_SECTIONS))


def part_plan(case: Case, plan: Plan) -> Plan:
    """The plan with the part alone that the stack makes; the whole of it where it makes all."""
    part, cluster = case.spec.split.part, case.spec.cluster
    if part == "all" or isinstance(cluster, ExistingClusterSpec):
        return plan
    split = PlannedSplit(
        part=part,
        cluster_stack=case.spec.cluster_stack,
        organization=case.spec.split.organization,
        cluster=_cluster_facts(case, cluster),
    )
    if part == "platform":
        of_platform = plan.cluster.model_copy(update={"doks": None, "oke": None})
        offered = tuple(row for row in plan.not_asked_for if row.place[0] != "cluster")
        update = {"split": split, "cluster": of_platform, "cost": _NO_COST, "not_asked_for": offered}
        return plan.model_copy(update=update)
    return _drop_platform(plan).model_copy(update={"split": split})


def _cluster_facts(case: Case, cluster: DoksClusterSpec | OkeClusterSpec) -> ClusterFacts:
    """The facts of a stack's cluster, as its file has them."""
    return ClusterFacts(
        name=cluster.name or case.spec.cluster_stack,
        provider=cluster.provider,
        region=cluster.region,
        kubernetes_version=cluster.version,
        pools=tuple(
            SharedPool(
                name=pool.name,
                shape=pool.shape,
                nodes=pool.nodes,
                most_nodes=bounds.max_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes,
                labels=pool.labels,
                taints=pool.taints_with(shape.gpus.vendor),
                node_names=pool.node_names,
                first_share=pool.first_share,
                placement=getattr(pool, "placement", None),
            )
            for pool, shape in zip(cluster.pools, case.shapes, strict=True)
        ),
        other_pools=other_nodes(case) or None,
        ranges=cluster.ranges,
        shapes=cluster.shapes,
        installed=cluster.installed,
        plugins=cluster.plugins if isinstance(cluster, DoksClusterSpec) else None,
    )


def _drop_platform(plan: Plan) -> Plan:
    """The plan with nothing that is applied to the cluster, and no files for jobs."""
    files: dict[str, Any] = {"files": (), "environment": {}, "verification_environment": {}}
    carried = {"networks": (), "annotations": {}, "resources": {}, "pod_template_patch": {}, **files}
    return plan.model_copy(
        update={
            "steps": (),
            "rails": (),
            "nccl": plan.nccl.model_copy(update={**files, "settings": ()}),
            "workload": plan.workload.model_copy(update=carried),
            "not_asked_for": tuple(row for row in plan.not_asked_for if row.place[0] == "cluster"),
        }
    )
