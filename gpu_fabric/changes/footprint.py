"""What a plan leaves on record to recognise losses in the next one, and the stack's output that stores it."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import JsonValue

from gpu_fabric.changes.holders import Holders, geometry
from gpu_fabric.changes.properties import OUTPUT, Keys, digest_long_texts, keys_of, recorded_part, rules_of
from gpu_fabric.changes.software import Program, Software, software
from gpu_fabric.changes.watched import Row, rows, why_no_loss
from gpu_fabric.k8s.spiderpool import SpiderIPPool
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.allocation import Allocation, allocation
from gpu_fabric.plan.ipam import node_pool_name
from gpu_fabric.plan.plan import PlannedPool
from gpu_fabric.plan.records import PlannedGroup
from gpu_fabric.plan.steps import Step
from gpu_fabric.render.model import RenderedFabric, RenderedPlan, RenderedRail, RenderedResource
from gpu_fabric.render.places import group_identity, is_object, object_identity
from gpu_fabric.render.resources import address_document, rendered_resources
from gpu_fabric.resources.dynamic import KEPT_OBJECTS
from gpu_fabric.resources.order import CLUSTER, waits
from gpu_fabric.resources.resource import Timeouts

if TYPE_CHECKING:
    from gpu_fabric.changes.model import PlanDiff

SCHEMA: Literal["v1"] = "v1"
REFERENCES = "refersTo"
"""The key of references in a record whose properties are left out."""


class AppliedSplit(FrozenModel):
    """The part of a split stack, and the stack that has its cluster."""

    part: Literal["cluster", "platform"]
    cluster_stack: str
    organization: str | None = None


class AppliedFabric(FrozenModel):
    """A further fabric: its pools, who holds its addresses, and its networks and namespaces."""

    name: str
    pools: tuple[str, ...]
    allocation: Allocation | None = None
    addresses: dict[str, JsonValue] = {}
    contract: dict[str, JsonValue] = {}


class Applied(FrozenModel):
    """The output `applied`: pools of nodes, and the resources whose loss loses nodes or addresses.

    It keeps only the properties by which something is lost, and digests of long texts. `fixed` names, by type, the
    properties that cannot change in place or that renew machines, since another version may know others. The outputs
    `addressPlan` and `fabric` have the rest of what is compared.

    `region` is Oracle's. `cluster_id` is the id of an existing cluster, or of another stack's cluster. `address` is
    derived from the kubeconfig's server. No property has these three. `split` is None for a whole stack and in records
    of versions without it; `allocation` is None without addresses and in such records. `fabrics` are further fabrics.
    `software` is None in records of versions without it.
    """

    schema_version: Literal["v1"] = SCHEMA
    provider: str
    pools: tuple[PlannedPool, ...]
    region: str | None = None
    cluster_id: str | None = None
    address: str | None = None
    split: AppliedSplit | None = None
    allocation: Allocation | None = None
    fabrics: tuple[AppliedFabric, ...] = ()
    software: Software | None = None
    fixed: dict[str, tuple[str, ...]]
    resources: tuple[RenderedResource, ...]


class Footprint(NamedTuple):
    """The part of a plan that is compared; `contract` has the networks and namespaces of the output `fabric`.

    `known_id` is the id of an existing cluster in this run: from the stack file, or derived from the kubeconfig's
    server.
    """

    applied: Applied
    addresses: Holders
    contract: dict[str, Any]
    known_id: str | None = None


OF_CONTRACT = ("networks", "namespaces")
"""The keys of the output `fabric` that are compared."""


def footprint(plan: Plan, cluster_id: str | None = None, address: str | None = None) -> Footprint:
    """Reduce a plan to its footprint; `cluster_id` is the id of another stack's cluster, where the run knows it.

    `address` is the id of an existing cluster that is derived from the kubeconfig's server.
    """
    resources = tuple(_resources(plan))
    kept = _add_references({entry.name for entry in resources if _is_watched(entry)}, resources)
    recorded = tuple(_reduce(entry, kept) for entry in resources if entry.name in kept)
    fixed = {entry.type: tuple(map(".".join, _fixed(entry.type))) for entry in recorded}
    split, first = plan.split, next(iter(plan.by_fabric.values()))
    contract = plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(OF_CONTRACT))
    return Footprint(
        applied=Applied(
            provider=plan.cluster.provider,
            pools=plan.cluster.pools,
            region=None if plan.cluster.oke is None else plan.cluster.oke.region,
            cluster_id=plan.cluster.id or cluster_id,
            address=address,
            split=None if split is None else AppliedSplit(**split.model_dump(include=set(AppliedSplit.model_fields))),
            allocation=allocation(first) if first.addresses.pools else None,
            fabrics=tuple(_fabrics(plan)),
            software=_software(plan, resources),
            fixed=dict(sorted(fixed.items())),
            resources=recorded,
        ),
        addresses=Holders.of(address_document(plan.addresses)),
        contract=contract,
        known_id=plan.cluster.id or address,
    )


def _software(plan: Plan, resources: tuple[RenderedResource, ...]) -> Software:
    records = [wait.record.model_dump(mode="json", by_alias=True) for wait in waits(plan)]
    registries, manager = plan.workload.image_registries.values(), plan.choices.manager
    return software(plan.release_line, registries, resources, records, manager)


def _fabrics(plan: Plan) -> Iterator[AppliedFabric]:
    by_fabric = plan.by_fabric
    for fabric in plan.fabrics:
        one = by_fabric[fabric.name]
        yield AppliedFabric(
            name=fabric.name,
            pools=fabric.pools,
            allocation=allocation(one) if one.addresses.pools else None,
            addresses=address_document(one.addresses),
            contract=one.workload.model_dump(
                mode="json", by_alias=True, exclude_none=True, include={*OF_CONTRACT, "purpose"}
            ),
        )


def reduce_to_record(entry: RenderedResource, record: RenderedResource, fixed: tuple[str, ...]) -> RenderedResource:
    """Reduce a resource to the properties that an older record of it would have."""
    paths = (*map(keys_of, fixed), *_replacing_paths(record), (REFERENCES,))
    numbers = _counts(entry)
    return entry.model_copy(update={"properties": recorded_part(entry.properties, paths, numbers=numbers) or {}})


def _resources(plan: Plan) -> Iterator[RenderedResource]:
    # The address plan compares the objects of single nodes, of which there are tens of thousands.
    groups = {
        f"{step.component}-{item.name}": item
        for step in plan.steps
        for item in step.items
        if isinstance(item, PlannedGroup)
    }
    bare = plan.model_copy(update={"steps": tuple(map(_drop_members, plan.steps))})
    for entry in rendered_resources(bare):
        group = groups.get(entry.name)
        yield entry if group is None else entry.model_copy(update={"identity": _identity(entry, group)})


def _drop_members(step: Step) -> Step:
    items = (item.model_copy(update={"objects": ()}) if isinstance(item, PlannedGroup) else item for item in step.items)
    return step.model_copy(update={"items": tuple(items)})


def _identity(entry: RenderedResource, group: PlannedGroup) -> str:
    return group_identity(entry.properties["keptBy"], Counter(planned.object.kind for planned in group.objects))


def _is_watched(entry: RenderedResource) -> bool:
    """Whether something is lost where the resource is deleted or replaced; a patch never is."""
    lossless = all(why_no_loss(entry.type, verdict) for verdict in ("deleted", "replaced"))
    return not lossless and not entry.type.endswith("Patch")


def _add_references(names: set[str], resources: tuple[RenderedResource, ...]) -> set[str]:
    """Names with those of all resources that they refer to, because of which they may be replaced."""
    # A resource comes after those that it refers to.
    for entry in reversed(resources):
        if entry.name in names and entry.component == CLUSTER:
            names = names | _references(entry)
    return names


def _reduce(entry: RenderedResource, kept: set[str]) -> RenderedResource:
    paths = (*_fixed(entry.type), *_replacing_paths(entry))
    properties = recorded_part(entry.properties, paths, numbers=_counts(entry)) or {}
    if entry.type == KEPT_OBJECTS:
        properties.pop("objects", None)
    if entry.component == CLUSTER:
        others = sorted((_references(entry) & kept) - set(OUTPUT.findall(str(properties))))
        properties |= {REFERENCES: [f"<output {name}.id>" for name in others]} if others else {}
    handling = entry.handling.model_copy(update={"timeouts": Timeouts(), "deleted_with": None})
    return entry.model_copy(update={"file": "", "properties": digest_long_texts(properties), "handling": handling})


def _references(entry: RenderedResource) -> set[str]:
    return set(OUTPUT.findall(str(entry.properties)))


def _counts(entry: RenderedResource) -> bool:
    """Whether a resource holds machines, so that their number may get smaller."""
    return entry.component == CLUSTER and bool(entry.loss.nodes)


def _fixed(resource_type: str) -> tuple[Keys, ...]:
    rules, moves = rules_of(resource_type), rows().get(resource_type, Row()).moves
    return (*rules.replaced, *rules.lowered, *rules.renewed, *map(keys_of, moves))


def _replacing_paths(entry: RenderedResource) -> tuple[Keys, ...]:
    return tuple(map(keys_of, entry.handling.replace_on_changes))


def footprint_diff(stack: str, old: Footprint, new: Footprint) -> PlanDiff:
    """Compare two footprints of a stack."""
    # Here, since a first run has nothing to compare.
    from gpu_fabric.changes.plan_diff import plan_diff
    from gpu_fabric.changes.software_diff import software_diff

    records = {(entry.type, entry.name): entry for entry in old.applied.resources}
    known = tuple(
        reduce_to_record(entry, record, old.applied.fixed.get(entry.type, ()))
        if (record := records.get((entry.type, entry.name)))
        else entry
        for entry in new.applied.resources
    )
    found = plan_diff(
        _rendered(stack, old, old.applied.resources, new.addresses), _rendered(stack, new, known, old.addresses)
    )
    return found.model_copy(update={"software": software_diff(old.applied.software, new.applied.software)})


def _rendered(stack: str, found: Footprint, resources: tuple[RenderedResource, ...], other: Holders) -> RenderedPlan:
    applied = found.applied
    cluster = {
        "provider": applied.provider,
        "id": applied.cluster_id,
        "knownId": found.known_id,
        "oke": {"region": applied.region},
        "pools": [pool.model_dump(mode="json", by_alias=True) for pool in applied.pools],
    }
    decisions: dict[str, Any] = {
        "cluster": cluster,
        "split": None if applied.split is None else applied.split.model_dump(mode="json", by_alias=True),
    }
    if applied.allocation is not None:
        decisions["allocation"] = applied.allocation.model_dump(mode="json", by_alias=True)
    return RenderedPlan(
        stack=stack,
        resources=tuple(_add_addresses(entry, found, other) for entry in resources),
        decisions=decisions,
        proof=found.addresses.document(),
        rails=_rails_of(found.addresses),
        contract=found.contract,
        fabrics=tuple(
            RenderedFabric(
                name=fabric.name,
                pools=fabric.pools,
                proof=Holders.of(fabric.addresses).document(),
                rails=_rails_of(Holders.of(fabric.addresses)),
                contract=fabric.contract,
                allocation=None
                if fabric.allocation is None
                else fabric.allocation.model_dump(mode="json", by_alias=True),
            )
            for fabric in applied.fabrics
        ),
    )


def _rails_of(holders: Holders) -> tuple[RenderedRail, ...]:
    return tuple(RenderedRail(rail=rail, pool=pool.name, shares=()) for pool in holders.pools for rail in pool.rails)


def _add_addresses(entry: RenderedResource, found: Footprint, other: Holders) -> RenderedResource:
    """A resource with the addresses that it holds; for a group of single nodes' pools, those that differ."""
    holders = found.addresses
    if entry.type == KEPT_OBJECTS:
        numbers = set(holders.shares.values()) - set(other.shares.values())
        held = [pool for pool in holders.pools if entry.name == f"node-pools-{pool.name}"]
        names: dict[str, Any] = {node_pool_name(pool, number): {} for pool in held for number in sorted(numbers)}
        return entry.model_copy(update={"properties": {**entry.properties, "objects": {SpiderIPPool.kind: names}}})
    name = (entry.properties.get("metadata") or {}).get("name")
    spanned: dict[str, Any] = {}
    further = [(Holders.of(fabric.addresses), fabric.contract) for fabric in found.applied.fabrics]
    for own, contract in ((holders, found.contract), *further):
        rails = {network.get("rail") for network in contract.get("networks", ()) if network["network"] == name}
        spanned |= {
            pool.name: geometry(pool)
            for pool in own.pools
            if (entry.component == "ip-pools" and pool.name == name)
            or (entry.component == "networks" and rails & set(pool.rails))
        }
    addresses: dict[str, Any] = {"addresses": spanned} if spanned else {}
    return entry.model_copy(update={"properties": {**entry.properties, **addresses}})


def _recorded(found: Software) -> Software:
    """What a later plan is compared with: each program once, with a digest of a long command."""
    programs = sorted({(program.image, digest_long_texts(program.command)) for program in found.programs})
    known = tuple(Program(image=image, command=command) for image, command in programs)
    return found.model_copy(update={"programs": known})


_OF_ONE = ("name", "identity", "properties")
_EMPTY: dict[str, Any] = {"file": "", "handling": {}, "loss": {}, "properties": {}}


def applied_document(found: Footprint) -> dict[str, JsonValue]:
    """Write the output `applied`; equal footprints give equal documents."""
    document = found.applied.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        exclude={"resources": {"__all__": {"file"}}, "software": True},
    )
    if found.applied.software is not None:
        recorded = _recorded(found.applied.software)
        document["software"] = recorded.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"schemaVersion": SCHEMA, **document, "resources": list(_groups(document["resources"]))}


def footprint_of_outputs(outputs: Mapping[str, Any]) -> Footprint | None:
    """Read the footprint of the last `up` from a stack's outputs; None where they hold none of this version.

    Raises ValueError, KeyError or TypeError where an output is damaged.
    """
    applied, addresses, contract = (
        _whole_numbers(unpack(outputs.get(key))) for key in ("applied", "addressPlan", "fabric")
    )
    if not isinstance(applied, dict) or applied.get("schemaVersion") != SCHEMA:
        return None
    return Footprint(
        applied=Applied.model_validate({**applied, "resources": list(_ungroup(applied["resources"]))}),
        # A stack that creates only a cluster has neither of these outputs.
        addresses=Holders.of(addresses or {}),
        contract={key: value for key, value in dict(contract or {}).items() if key in OF_CONTRACT},
        known_id=outputs.get("clusterId"),
    )


def _groups(resources: list[dict[str, Any]]) -> Iterator[dict[str, JsonValue]]:
    for _, alike in groupby(resources, lambda entry: json.dumps(_common_fields(entry), sort_keys=True)):
        entries = list(alike)
        members: list[JsonValue] = [
            {
                key: entry[key]
                for key in _OF_ONE
                if entry[key] and (key, entry[key]) != ("identity", _identity_by_metadata(entry))
            }
            for entry in entries
        ]
        yield {**_common_fields(entries[0]), "members": members}


def _ungroup(groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for group in groups:
        common = {key: value for key, value in group.items() if key != "members"}
        for member in group["members"]:
            entry = {**_EMPTY, **common, **member}
            yield {"identity": _identity_by_metadata(entry), **entry}


def _common_fields(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in _OF_ONE and value != {}}


def _identity_by_metadata(entry: Mapping[str, Any]) -> str:
    """The identity of a Kubernetes object, by its type and metadata; empty for other resources."""
    metadata = entry["properties"].get("metadata", {})
    if not is_object(entry["type"]) or "name" not in metadata:
        return ""
    _, version, kind = entry["type"].split(":")
    return object_identity(f"{version.removeprefix('core/')} {kind}", metadata)


def _whole_numbers(value: Any) -> Any:
    """Pulumi's outputs have one type of number; whole numbers become integers again."""
    if isinstance(value, dict):
        return {key: _whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pack(document: dict[str, JsonValue]) -> str:
    """Write a document as compressed JSON in base64: `base64 -d | gunzip` gives the JSON.

    Of an object, and of a JSON text, Pulumi would print every field on a line of its own.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def unpack(value: Any) -> Any:
    """Read what `pack` wrote; any other value, such as an object of an older version, is returned unchanged.

    Raises:
        ValueError: the text is not a packed document.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(gzip.decompress(base64.b64decode(value, validate=True)))
    except (OSError, EOFError, ValueError) as error:
        raise ValueError("no packed document") from error
