"""Two rendered plans of a stack, compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.diff.cost import cost_diff
from fabric.diff.jobs import jobs_diff
from fabric.diff.losses import planned_pools, whole_loss, with_networks
from fabric.diff.model import FindingDiff, Move, PlanDiff, PoolDiff, RailDiff
from fabric.diff.place import place_diff
from fabric.diff.resources import resource_diffs
from fabric.diff.versions import version_diffs
from fabric.progress import UNHEARD, Progress
from fabric.render import RenderedPlan, RenderedRail

# Decisions that are told apart, or that say again what resources are.
_TOLD = ("cluster.pools", "cost")
# What the contract says a second time, in the form of a patch.
_AGAIN = {"podTemplatePatch", "annotations"}


class DifferentStacks(Exception):
    """The plans are of two stacks, so that no edit of one leads to the other."""


def plan_diff(base: RenderedPlan, head: RenderedPlan, progress: Progress = UNHEARD) -> PlanDiff:
    """What lies between two plans of one stack.

    Raises:
        DifferentStacks: naming both.
    """
    if base.stack != head.stack:
        raise DifferentStacks(f"plans of two stacks, {base.stack!r} and {head.stack!r}: compare plans of one")
    place = place_diff(base, head)
    left = None if place is None else place.provider_of_another
    found = with_networks(resource_diffs(base, head, progress, left), base)
    progress.step("comparing addresses")
    there = sum(resource.verdict != "deleted" for resource in found)
    return PlanDiff(
        stack=head.stack,
        unchanged=len(head.resources) - there,
        resources=found,
        lost=whole_loss(found, base),
        networks=tuple(dict.fromkeys(name for resource in found for name in resource.networks)),
        pools=tuple(_pools(base, head)),
        rails=tuple(_rails(base, head)),
        versions=version_diffs(base, head),
        cost=cost_diff(base, head),
        findings=tuple(_findings(base, head)),
        elsewhere=tuple(_elsewhere(base, head)),
        place=place,
        jobs=jobs_diff(base, head),
        acknowledged=head.acknowledgements,
        acknowledged_before=base.acknowledgements,
    )


def _pools(base: RenderedPlan, head: RenderedPlan) -> Iterator[PoolDiff]:
    before, after = ({pool["name"]: pool for pool in planned_pools(plan)} for plan in (base, head))
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, {}), after.get(name, {})
        if old != new:
            yield PoolDiff(
                name=name,
                old_shape=old.get("shape"),
                new_shape=new.get("shape"),
                old_nodes=old.get("nodes", 0),
                new_nodes=new.get("nodes", 0),
                old_gpus=old.get("gpus", 0),
                new_gpus=new.get("gpus", 0),
                old_nics=old.get("nics", 0),
                new_nics=new.get("nics", 0),
            )


def _rails(base: RenderedPlan, head: RenderedPlan) -> Iterator[RailDiff]:
    before, after = ({rail.rail: rail for rail in plan.rails} for plan in (base, head))
    spaces = [{pool["name"]: pool["space"] for pool in plan.proof.get("pools", ())} for plan in (base, head)]
    for number in sorted(before.keys() | after.keys()):
        old, new = before.get(number), after.get(number)
        had, has = _shares(old), _shares(new)
        if had == has:
            continue
        yield RailDiff(
            rail=number,
            kept_in=() if old is None else tuple(_keepers(base, old)),
            old_space=None if old is None else spaces[0].get(old.pool),
            new_space=None if new is None else spaces[1].get(new.pool),
            moved=tuple(Move(node=n, old=had[n], new=has[n]) for n in had if n in has and had[n] != has[n]),
            added=tuple(Move(node=n, old=None, new=has[n]) for n in has if n not in had),
            removed=tuple(Move(node=n, old=had[n], new=None) for n in had if n not in has),
        )


def _keepers(plan: RenderedPlan, rail: RenderedRail) -> Iterator[str]:
    """What holds a rail's addresses: its pool, or where they are handed out without one the rail's networks."""
    networks = {entry["network"] for entry in plan.contract.get("networks", ()) if entry.get("rail") == rail.rail}
    pools, others = [], []
    for resource in plan.resources:
        name = (resource.properties.get("metadata") or {}).get("name")
        if (resource.component == "ip-pools" and name == rail.pool) or resource.name == f"node-pools-{rail.pool}":
            pools.append(resource.name)
        elif resource.component == "networks" and name in networks:
            others.append(resource.name)
    yield from pools or others


def _shares(rail: RenderedRail | None) -> dict[str, str]:
    """What each node's pods may hold, with the host's own address where it has one."""
    if rail is None:
        return {}
    return {share.node: share.share + (f", host {share.host}" if share.host else "") for share in rail.shares}


def _findings(base: RenderedPlan, head: RenderedPlan) -> Iterator[FindingDiff]:
    for is_new, ours, others in ((True, head.findings, base.findings), (False, base.findings, head.findings)):
        # A remedy may be worded by numbers that have nothing to do with it.
        known = {(other.id, other.path, other.message) for other in others}
        for finding in ours:
            if (finding.id, finding.path, finding.message) not in known:
                yield FindingDiff(
                    is_new=is_new,
                    id=finding.id,
                    severity=finding.severity.value,
                    path=finding.path or "stack",
                    message=finding.message,
                )


def _elsewhere(base: RenderedPlan, head: RenderedPlan) -> Iterator[str]:
    for name in sorted(base.contract.keys() | head.contract.keys()):
        if name not in _AGAIN and base.contract.get(name) != head.contract.get(name):
            yield f"contract {name}"
    yield from (f"decisions {path}" for path in _parts(base.decisions, head.decisions) if not path.startswith(_TOLD))
    if base.waits != head.waits:
        yield "waits"


def _parts(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            yield from (f"{name}.{key}" for key in sorted(before.keys() | after.keys()) if _differ(before, after, key))
        else:
            yield name


def _differ(old: dict[str, Any], new: dict[str, Any], key: str) -> bool:
    return bool(old.get(key) != new.get(key))
