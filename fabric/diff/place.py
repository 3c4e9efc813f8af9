"""Whether a cluster is looked for where it was: no resource says so where the plan does not make it."""

from __future__ import annotations

from typing import Any

from fabric.diff.model import PlaceDiff, PlaceKey
from fabric.diff.resources import CLUSTERS
from fabric.render import RenderedPlan
from fabric.resources import Loss
from fabric.resources.objects import KUBERNETES
from fabric.resources.order import CLUSTER

_EXISTING = "existing"


def place_diff(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Where the cluster is looked for, where that differs and only providers know; nowhere where nothing is made."""
    if not head.resources:
        return None
    return _other_region(base, head) or _other_cluster(base, head)


def _other_region(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Oracle's region is a setting of its provider; DigitalOcean's is a property of each resource."""
    old, new = ((_cluster(plan).get("oke") or {}).get("region") for plan in (base, head))
    cluster = next((resource for resource in base.resources if resource.type in CLUSTERS), None)
    if not old or not new or old == new or cluster is None:
        return None
    return PlaceDiff(
        key="cluster.region",
        resource=cluster.name,
        type=cluster.type,
        identity=cluster.identity,
        old=old,
        new=new,
        lost=cluster.loss,
    )


def _other_cluster(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """A cluster that the earlier plan does not make: by another one, everything on it is somebody else's.

    Ids decide where both are known, whatever leads to them.
    """
    had, has = _named(base), _named(head)
    old_id, new_id = had["cluster.id"] or had["clusterId"], has["cluster.id"] or has["clusterId"]
    if _makes_its_own(had) or (old_id and old_id == new_id):
        return None
    # An id that only a run knows is not on record of every plan.
    told = (key for key in had if key != "clusterId" or (old_id and new_id))
    key = next((key for key in told if had[key] != has[key]), None)
    if key is None:
        return None
    of_stack = had["split.part"] == "platform"
    return PlaceDiff(
        key=key,
        resource=f"{CLUSTER}-{KUBERNETES}",
        type="",
        identity=f"the cluster of stack {had['split.clusterStack']}" if of_stack else "the cluster, which exists",
        old=had[key],
        new=has[key],
        lost=Loss(addresses=sum(pool["needed"] for pool in base.proof.get("pools", ()))),
    )


def _named(plan: RenderedPlan) -> dict[PlaceKey, str | None]:
    """What leads to a plan's cluster, the first that differs being the most telling."""
    cluster, split = _cluster(plan), plan.decisions.get("split") or {}
    of_stack = split.get("part") == "platform"
    exists = not of_stack and cluster.get("provider") == _EXISTING
    return {
        "split.part": split.get("part", "all"),
        "split.clusterStack": split.get("clusterStack") if of_stack else None,
        "split.organization": split.get("organization") if of_stack else None,
        "cluster.provider": None if of_stack else cluster.get("provider"),
        "cluster.id": cluster.get("id") if exists else None,
        "clusterId": cluster.get("id") if of_stack else None,
    }


def _makes_its_own(named: dict[PlaceKey, str | None]) -> bool:
    """Whether a plan makes its cluster, so that a resource says what becomes of it; or one that says nothing."""
    return named["split.part"] != "platform" and named["cluster.provider"] != _EXISTING


def _cluster(plan: RenderedPlan) -> dict[str, Any]:
    found: dict[str, Any] = plan.decisions.get("cluster") or {}
    return found
