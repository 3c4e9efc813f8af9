"""The lines in which reports say how a plan is applied: what the cloud makes, then the plan's own steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.doks import DoksResources
from gpu_fabric.report.oke import oke_steps


class Line(NamedTuple):
    """One line; `waits` is empty where what was applied is ready when created."""

    title: str
    what: str
    waits: str = ""


def lines(plan: Plan) -> Iterator[Line]:
    """The lines in order; some steps run at the same time, and say so."""
    if plan.split is not None and plan.part == "platform":
        what = f"that of stack {plan.split.cluster_stack}, which is not changed"
        yield Line("cluster", what, "nothing: that stack is up, and as its file says, or this one is refused")
    if plan.cluster.doks is not None:
        yield from _doks(plan.cluster.doks)
    if plan.cluster.oke is not None:
        yield from (Line(*entry) for entry in oke_steps(plan.cluster.oke))
    yield from (Line(words.title, words.what, words.waits) for step in plan.steps for words in step.words)


def _doks(cloud: DoksResources) -> Iterator[Line]:
    """What DigitalOcean makes."""
    if cloud.vpc is not None:
        taken = " (taken over)" if cloud.vpc.adopts else ""
        yield Line("VPC", f"{cloud.vpc.name}{taken}: {cloud.vpc.ip_range or 'a range of its choice'}")
    cluster, system = cloud.cluster, cloud.cluster.node_pool
    taken = " (taken over)" if cluster.adopts else ""
    yield Line(
        "cluster",
        f"{cluster.name}{taken} with pool {system['name']}: {system['node_count']} x {system['size']}",
        f"running, {_minutes(cluster.create_timeout)} at most",
    )
    for number, pool in enumerate(cloud.pools):
        at_once = ", at the same time" if number else ""
        taken = " (taken over)" if pool.adopts else ""
        yield Line(
            "GPU pool",
            f"{pool.name}{taken}: {pool.node_count} x {pool.size}{at_once}",
            f"every node running, {_minutes(pool.create_timeout)} at most",
        )
    if cloud.listing is not None:
        listed = f"{cloud.listing.project}, which the cluster is listed under"
        yield Line("project", cloud.project.name if cloud.project else listed)


def _minutes(timeout: str | None) -> str:
    return f"{(timeout or '').removesuffix('m')} minutes"
