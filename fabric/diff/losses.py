"""What is lost in all, and which networks of running jobs need what goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fabric.diff.model import ResourceDiff
from fabric.diff.resources import OUTPUT
from fabric.render import RenderedPlan
from fabric.resources import Loss, together


def with_networks(found: Iterable[ResourceDiff], base: RenderedPlan) -> tuple[ResourceDiff, ...]:
    """Resources with the networks of jobs that need them, where they go or get smaller."""
    networks = {
        entry["rail"]: entry["network"] for entry in base.contract.get("networks", ()) if entry.get("rail") is not None
    }
    named = {entry["network"] for entry in base.contract.get("networks", ())}
    offered = set(base.contract.get("namespaces", ()))
    of_pool: dict[str, list[str]] = {}
    for rail in base.rails:
        if rail.rail in networks:
            of_pool.setdefault(rail.pool, []).append(networks[rail.rail])
    objects = {(entry.type, entry.name): entry.properties for entry in base.resources}

    def needed(resource: ResourceDiff) -> tuple[str, ...]:
        if resource.verdict not in ("replaced", "deleted") and not resource.renewed:
            return ()
        if resource.lost.nodes:
            return tuple(sorted(named))
        properties = objects.get((resource.type, resource.name), {})
        metadata = properties.get("metadata") or {}
        name = str(metadata.get("name") or resource.name)
        if resource.component == "networks":
            return (name,) if name in named else ()
        if resource.component == "namespaces":
            # All that is in it goes with it, the jobs first.
            return tuple(sorted(named)) if name in offered else ()
        if resource.component in ("ip-pools", "node-pools"):
            return tuple(of_pool.get(name.removeprefix("node-pools-"), ()))
        return ()

    return tuple(resource.model_copy(update={"networks": needed(resource)}) for resource in found)


def planned_pools(plan: RenderedPlan) -> list[dict[str, Any]]:
    """The plan's pools of nodes, as its decisions have them."""
    pools: list[dict[str, Any]] = plan.decisions.get("cluster", {}).get("pools", [])
    return pools


def whole_loss(found: Iterable[ResourceDiff], base: RenderedPlan) -> Loss:
    """Everything that is lost, counted once: what lies within something that is lost goes with that."""
    lost = [resource for resource in found if resource.lost != Loss()]
    holders = {resource.name for resource in lost if resource.lost.nodes}
    within = {
        entry.name
        for entry in base.resources
        if entry.name in holders and holders & set(OUTPUT.findall(str(entry.properties)))
    }
    outer = [resource.lost for resource in lost if resource.name not in within]
    # Where nodes may be lost, there is a cluster that would take all of them along.
    whole = Loss(
        nodes=max((entry.loss.nodes for entry in base.resources), default=0),
        gpus=max((entry.loss.gpus for entry in base.resources), default=0),
        addresses=sum(pool["needed"] for pool in base.proof.get("pools", ())),
    )
    return together(outer).within(whole)
