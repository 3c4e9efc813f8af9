"""Whether a plan reaches another cluster than before, where no resource of the plan shows it."""

from __future__ import annotations

from typing import Any

from gpu_fabric.changes.model import PlaceDiff, PlaceKey
from gpu_fabric.changes.resources import CLUSTERS
from gpu_fabric.render import RenderedPlan
from gpu_fabric.resources import Loss
from gpu_fabric.resources.objects import KUBERNETES
from gpu_fabric.resources.order import CLUSTER

_EXISTING = "existing"


def place_diff(base: RenderedPlan, head: RenderedPlan) -> PlaceDiff | None:
    """Compare where the cluster is, as only providers know it; None for the same place, or where nothing is planned."""
    removed = not head.decisions
    if removed or (not head.resources and _named(head)["split.part"] == "cluster"):
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
    """Existing cluster: with another kubeconfig or id, every object is on a different cluster.

    Where both ids are known, the ids decide, and not the keys of the stack file.
    """
    had, has = _named(base), _named(head)
    old_id, new_id = (one["kubeconfig"] or one["cluster.id"] or one["clusterId"] for one in (had, has))
    if _makes_its_own(had) or (old_id and old_id == new_id):
        return None
    # An id that only a run knows is not recorded in every plan.
    comparable = (key for key in had if key not in ("clusterId", "kubeconfig") or (old_id and new_id))
    key = next((key for key in comparable if had[key] != has[key]), None)
    if key is None:
        return None
    of_stack = had["split.part"] == "platform"
    return PlaceDiff(
        key=key,
        resource=f"{CLUSTER}-{KUBERNETES}",
        type="",
        identity=f"the cluster of stack {had['split.clusterStack']}" if of_stack else "the cluster, which exists",
        old=old_id if key == "cluster.id" else had[key],
        new=new_id if key == "cluster.id" else has[key],
        lost=Loss(addresses=sum(pool["needed"] for pool in base.proof.get("pools", ()))),
    )


def _named(plan: RenderedPlan) -> dict[PlaceKey, str | None]:
    """The keys that lead to a plan's cluster, the most telling first."""
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
        "kubeconfig": cluster.get("knownId") if exists else None,
    }


def _makes_its_own(named: dict[PlaceKey, str | None]) -> bool:
    """Whether a plan creates its cluster, so that a resource shows its changes; True where nothing is recorded."""
    return named["split.part"] != "platform" and named["cluster.provider"] != _EXISTING


def _cluster(plan: RenderedPlan) -> dict[str, Any]:
    found: dict[str, Any] = plan.decisions.get("cluster") or {}
    return found
