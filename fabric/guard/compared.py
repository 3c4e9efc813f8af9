"""What was applied last against a plan, as far as something can be lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.diff import PlanDiff, plan_diff
from fabric.guard.footprint import Addresses, Footprint, as_recorded
from fabric.k8s.spiderpool import SpiderIPPool
from fabric.plan.addresses import AddressPool
from fabric.plan.ipam.spiderpool import node_pool_name
from fabric.render import RenderedPlan, RenderedRail, RenderedResource
from fabric.render.rendering import rendered_share
from fabric.resources.dynamic import KEPT_OBJECTS

# What decides a node's addresses beside its number.
_GEOMETRY = (
    "space",
    "subnet",
    "division",
    "gateway_position",
    "reserved_first",
    "reserved_last",
    "excluded",
    "node_prefix_length",
    "addresses_per_node",
)


def footprint_diff(stack: str, old: Footprint, new: Footprint) -> PlanDiff:
    """What lies between two footprints of a stack."""
    records = {(entry.type, entry.name): entry for entry in old.applied.resources}
    known = tuple(
        as_recorded(entry, record, old.applied.fixed.get(entry.type, ()))
        if (record := records.get((entry.type, entry.name)))
        else entry
        for entry in new.applied.resources
    )
    return plan_diff(
        _rendered(stack, old, old.applied.resources, new.addresses), _rendered(stack, new, known, old.addresses)
    )


def _rendered(stack: str, found: Footprint, resources: tuple[RenderedResource, ...], other: Addresses) -> RenderedPlan:
    applied = found.applied
    cluster = {
        "provider": applied.provider,
        "id": applied.cluster_id,
        "oke": {"region": applied.region},
        "pools": [pool.model_dump(mode="json", by_alias=True) for pool in applied.pools],
    }
    split = None if applied.split is None else applied.split.model_dump(mode="json", by_alias=True)
    return RenderedPlan(
        stack=stack,
        release_line="",
        resources=tuple(_with_addresses(entry, found, other) for entry in resources),
        waits=(),
        findings=(),
        decisions={"cluster": cluster, "split": split},
        proof={"pools": [pool.model_dump(mode="json", by_alias=True) for pool in found.addresses.pools]},
        rails=tuple(_rails(found.addresses, other)),
        nccl_files={},
        contract=found.contract,
        report="",
    )


def _with_addresses(entry: RenderedResource, found: Footprint, other: Addresses) -> RenderedResource:
    """A resource with the addresses that it holds; a group of the pools of single nodes has those that differ."""
    pools = found.addresses.pools
    if entry.type == KEPT_OBJECTS:
        numbers = {number for number, _ in found.addresses.nodes} - {number for number, _ in other.nodes}
        held = [pool for pool in pools if entry.name == f"node-pools-{pool.name}"]
        names: dict[str, Any] = {node_pool_name(pool, number): {} for pool in held for number in sorted(numbers)}
        return entry.model_copy(update={"properties": {**entry.properties, "objects": {SpiderIPPool.kind: names}}})
    name = (entry.properties.get("metadata") or {}).get("name")
    rails = {network.get("rail") for network in found.contract.get("networks", ()) if network["network"] == name}
    spanned = {
        pool.name: pool.model_dump(mode="json", by_alias=True, include=set(_GEOMETRY), exclude_none=True)
        for pool in pools
        if (entry.component == "ip-pools" and pool.name == name)
        or (entry.component == "networks" and rails & set(pool.rails))
    }
    theirs = {node: number for number, node in other.nodes}
    others = ((node, number) for number, node in found.addresses.nodes if theirs.get(node, number) != number)
    moved = next((f"{node} has share {number}" for node, number in others), None)
    told: dict[str, Any] = {"addresses": spanned, "nodes": moved} if spanned else {}
    return entry.model_copy(update={"properties": {**entry.properties, **told}})


def _rails(addresses: Addresses, other: Addresses) -> Iterator[RenderedRail]:
    """Every rail, with the shares of those nodes alone that the other plan gives otherwise or not at all."""
    theirs = {rail: pool for pool in other.pools for rail in pool.rails}
    numbers = {name: number for number, name in other.nodes}
    for pool in addresses.pools:
        for rail in pool.rails:
            alike = rail in theirs and _geometry(pool) == _geometry(theirs[rail])
            shares = tuple(
                rendered_share(pool, number, name)
                for number, name in addresses.nodes
                if not alike or numbers.get(name) != number
            )
            yield RenderedRail(rail=rail, pool=pool.name, shares=shares)


def _geometry(pool: AddressPool) -> tuple[Any, ...]:
    return tuple(getattr(pool, name) for name in _GEOMETRY)
