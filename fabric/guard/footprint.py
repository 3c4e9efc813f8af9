"""What a plan leaves on record, so that the next one is known to lose something: small enough for a stack's output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fabric.diff.replacements import rules_of
from fabric.diff.resources import OUTPUT
from fabric.guard.alternatives import is_harmless, rows
from fabric.guard.dangers import guarded
from fabric.guard.lasting import Keys, keys_of, lasting, shortened
from fabric.model import FrozenModel
from fabric.plan import Plan, PlannedGroup
from fabric.plan.addresses import AddressPool
from fabric.plan.plan import PlannedPool
from fabric.render import RenderedResource
from fabric.render.places import group_identity
from fabric.render.rendering import rendered_resources
from fabric.resources import Timeouts
from fabric.resources.dynamic import KEPT_OBJECTS
from fabric.resources.order import CLUSTER

SCHEMA: Literal["v1"] = "v1"
REFERENCES = "refersTo"
"""Where a record has references of properties that are not in it."""


class AppliedSplit(FrozenModel):
    """Which part of two a stack is, and whose cluster it lies on."""

    part: Literal["cluster", "platform"]
    cluster_stack: str
    organization: str | None = None


class Applied(FrozenModel):
    """The output `applied`: pools of nodes, and the resources whose loss takes nodes or addresses along.

    Of their properties those alone by which something is lost, and of long texts digests; `fixed` says by type which
    cannot change in place or renew machines, since another version may know of others. What else is compared is in the
    outputs `addressPlan` and `fabric`. `region` is Oracle's, and `cluster_id` that of a cluster that exists, or that
    another stack has made: no property has these. `split` is None where one stack makes all, and in a record of a
    version without it.
    """

    schema_version: Literal["v1"] = SCHEMA
    provider: str
    pools: tuple[PlannedPool, ...]
    region: str | None = None
    cluster_id: str | None = None
    split: AppliedSplit | None = None
    fixed: dict[str, tuple[str, ...]]
    resources: tuple[RenderedResource, ...]


class Addresses(NamedTuple):
    """Which node has which addresses: pools, and every node's number in them with its name."""

    pools: tuple[AddressPool, ...]
    nodes: tuple[tuple[int, str], ...]


class Footprint(NamedTuple):
    """What of a plan is compared; `contract` has the networks and namespaces of the output `fabric`."""

    applied: Applied
    addresses: Addresses
    contract: dict[str, Any]


OF_CONTRACT = ("networks", "namespaces")
"""What of the output `fabric` is compared."""


def footprint(plan: Plan, cluster_id: str | None = None) -> Footprint:
    """The footprint of a plan; `cluster_id` is that of another stack's cluster, where a run knows it."""
    resources = tuple(_resources(plan))
    kept = _with_references({entry.name for entry in resources if _is_watched(entry)}, resources)
    recorded = tuple(_recorded(entry, kept) for entry in resources if entry.name in kept)
    fixed = {entry.type: tuple(map(".".join, _fixed(entry.type))) for entry in recorded}
    split = plan.split
    contract = plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(OF_CONTRACT))
    return Footprint(
        applied=Applied(
            provider=plan.cluster.provider,
            pools=plan.cluster.pools,
            region=None if plan.cluster.oke is None else plan.cluster.oke.region,
            cluster_id=plan.cluster.id or cluster_id,
            split=None if split is None else AppliedSplit(**split.model_dump(include=set(AppliedSplit.model_fields))),
            fixed=dict(sorted(fixed.items())),
            resources=recorded,
        ),
        addresses=Addresses(plan.addresses.pools, plan.addresses.numbered_nodes),
        contract=contract,
    )


def as_recorded(entry: RenderedResource, record: RenderedResource, fixed: tuple[str, ...]) -> RenderedResource:
    """A resource by those properties alone that would be in an older record of it."""
    paths = (*map(keys_of, fixed), *_by_handling(record), (REFERENCES,))
    numbers = _counts(entry)
    return entry.model_copy(update={"properties": lasting(entry.properties, paths, numbers=numbers) or {}})


def _resources(plan: Plan) -> Iterator[RenderedResource]:
    # Objects of single nodes are compared by the address plan, and there are tens of thousands of them.
    without = tuple(group.model_copy(update={"objects": ()}) for group in plan.node_pools)
    groups = {f"node-pools-{group.name}": group for group in plan.node_pools}
    for entry in rendered_resources(plan.model_copy(update={"node_pools": without})):
        group = groups.get(entry.name)
        yield entry if group is None else entry.model_copy(update={"identity": _identity(entry, group)})


def _identity(entry: RenderedResource, group: PlannedGroup) -> str:
    return group_identity(entry.properties["keptBy"], Counter(planned.object.kind for planned in group.objects))


def _is_watched(entry: RenderedResource) -> bool:
    return guarded(entry) and not is_harmless(entry.type)


def _with_references(names: set[str], resources: tuple[RenderedResource, ...]) -> set[str]:
    """Resources and all that they refer to, by which they may have to go."""
    # What is referred to comes before.
    for entry in reversed(resources):
        if entry.name in names and entry.component == CLUSTER:
            names = names | _references(entry)
    return names


def _recorded(entry: RenderedResource, kept: set[str]) -> RenderedResource:
    paths = (*_fixed(entry.type), *_by_handling(entry))
    properties = lasting(entry.properties, paths, numbers=_counts(entry)) or {}
    if entry.type == KEPT_OBJECTS:
        properties.pop("objects", None)
    if entry.component == CLUSTER:
        others = sorted((_references(entry) & kept) - set(OUTPUT.findall(str(properties))))
        properties |= {REFERENCES: [f"<output {name}.id>" for name in others]} if others else {}
    handling = entry.handling.model_copy(update={"timeouts": Timeouts(), "deleted_with": None})
    return entry.model_copy(update={"file": "", "properties": shortened(properties), "handling": handling})


def _references(entry: RenderedResource) -> set[str]:
    return set(OUTPUT.findall(str(entry.properties)))


def _counts(entry: RenderedResource) -> bool:
    """Whether a resource holds machines, the number of which may get smaller."""
    return entry.component == CLUSTER and bool(entry.loss.nodes)


def _fixed(resource_type: str) -> tuple[Keys, ...]:
    rules, row = rules_of(resource_type), rows().get(resource_type)
    return (*rules.replaced, *rules.lowered, *rules.renewed, *map(keys_of, () if row is None else row.moves))


def _by_handling(entry: RenderedResource) -> tuple[Keys, ...]:
    return tuple(map(keys_of, entry.handling.replace_on_changes))
