"""The gate before jobs: every node offers its rails' devices."""

from __future__ import annotations

from fabric.plan.case import Case
from fabric.plan.rails import Rail
from fabric.plan.records import PlannedCapacity

# DigitalOcean's plug-in looks for NICs once a minute; a node that joined has them well before this.
_SECONDS = 900


def plan_capacity(case: Case, rails: tuple[Rail, ...]) -> PlannedCapacity | None:
    """What nodes must offer where their machines' maker advertises it; elsewhere the operators' own states say it.

    A pool that scales counts with its fewest nodes: more come and go.
    """
    resources = {rail.resource_name: rail.index for rail in rails if rail.resource_name is not None}
    if case.choices.manager != "doks" or not resources:
        return None
    pools = case.spec.cluster.pools
    fewest = sum(bounds.min_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes for pool in pools)
    return PlannedCapacity(nodes=case.node_labels, count=fewest, resources=resources, timeout=_SECONDS)
