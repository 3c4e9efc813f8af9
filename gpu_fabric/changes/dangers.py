"""Changes by which something in use is lost: the reasons, and what to do instead."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.base.enumeration import first_names, first_words, quantity
from gpu_fabric.changes.model import (
    HOSTS,
    Change,
    Danger,
    Effect,
    Keeper,
    Key,
    PlaceDiff,
    PlanDiff,
    RailDiff,
    ResourceDiff,
)
from gpu_fabric.changes.properties import digest_long_texts, number
from gpu_fabric.changes.resources import CLUSTERS
from gpu_fabric.changes.software_diff import software_dangers
from gpu_fabric.changes.watched import NAMESPACES, NETWORKS, POOLS, alternative, carried, moves, why_no_loss
from gpu_fabric.k8s.spiderpool import SpiderIPPool
from gpu_fabric.resources import Loss, together
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.order import CLUSTER

_DEFINITION = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
# An operator's parts are deleted with what installs it.
_INSTALLING = (RELEASE, _DEFINITION)


def dangers(diff: PlanDiff) -> tuple[Danger, ...]:
    """The causes of all losses, in the order of the difference.

    Whatever is deleted or replaced is a loss, unless a row of `no_loss.yaml` says why it is none. A resource that is
    deleted because of another one is counted with its cause: it is in it, refers to it, or is reached by it.
    """
    compared = (*diff.resources, *diff.kept)
    removed = {entry.key: entry for entry in diff.resources if entry.verdict in ("replaced", "deleted")}
    effects = {entry.key: effect for entry in compared if (effect := _effect(entry)) is not None}
    causes = {
        entry.key: _danger(entry, effects[entry.key])
        for entry in compared
        if entry.key in effects and not _is_consequence(entry, removed, effects)
    }
    covering = {key: _covering(danger, causes.values()) for key, danger in causes.items()}
    found = {key: danger for key, danger in causes.items() if covering[key] is None}
    for danger in (*_reallocations(diff, removed), *_another_cluster(diff)):
        found.setdefault(danger.key, danger)
    losses = (_add_consequences(danger, removed, found.keys(), diff.lost, covering) for danger in found.values())
    return *losses, *software_dangers(diff)


def _effect(entry: ResourceDiff) -> Effect | None:
    """The effect on a resource; None where nothing is lost."""
    if entry.follows is not None or entry.retained:
        return None
    moved = any(moves(entry.type, change.path) for change in entry.changes)
    if entry.verdict in ("changed", "kept"):
        if entry.renewed and entry.lost.nodes:
            return "renewed"
        fewer = entry.component == CLUSTER and entry.lost.nodes
        removed = any(group.removed for group in entry.groups if group.kind == SpiderIPPool.kind)
        return "smaller" if fewer or removed else "moved" if moved else "kept" if mismatched_changes(entry) else None
    if entry.verdict == "created" or why_no_loss(entry.type, entry.verdict):
        return "moved" if moved else None
    return "deleted" if entry.verdict == "deleted" else "replaced"


def _is_consequence(entry: ResourceDiff, removed: Mapping[Key, ResourceDiff], effects: Mapping[Key, Effect]) -> bool:
    """Whether the deletion only follows from another reported deletion.

    A deleted cluster is always reported by its own name.
    """
    own = any(change.forces for change in entry.changes) or (entry.verdict == "deleted" and entry.type in CLUSTERS)
    return not own and any(_has_reported_cause(key, removed, effects) for key in entry.held_by)


def _has_reported_cause(key: Key, removed: Mapping[Key, ResourceDiff], effects: Mapping[Key, Effect]) -> bool:
    return key in effects or (
        key in removed and any(_has_reported_cause(one, removed, effects) for one in removed[key].held_by)
    )


def _covering(danger: Danger, causes: Iterable[Danger]) -> Key | None:
    """The cause with which a resource is deleted; None where it is a cause of its own.

    A network of jobs is deleted with the pool of its addresses, a part of an operator with its release or its
    definitions, and everything with its namespace; of pools, the addresses are counted one by one.
    """
    if danger.component in POOLS:
        return None
    for cause in causes:
        with_pool = danger.component == NETWORKS and cause.component in POOLS
        of_operator = cause.type in _INSTALLING and danger.type not in _INSTALLING
        if (
            (with_pool and set(danger.networks) <= set(cause.networks))
            or (of_operator and danger.component == cause.component and danger.effect == cause.effect)
            or (cause.component == NAMESPACES != danger.component and _place(danger) == cause.identity.split(" ")[-1])
        ):
            return cause.key
    return None


def _place(danger: Danger) -> str:
    """The namespace of an object; empty for one of the whole cluster, and for resources of a cloud."""
    place, slash, _ = danger.identity.split(" ")[-1].partition("/")
    return place if slash else ""


def _reallocations(diff: PlanDiff, removed: Mapping[Key, ResourceDiff]) -> Iterator[Danger]:
    """Rails whose addresses change hands while their nodes stay, grouped by what holds the addresses."""
    rails: dict[Keeper, list[RailDiff]] = {}
    for rail in diff.rails:
        if rail.moved or rail.reasons:
            # A rail without a pool or network of its own is reported by its number.
            for keeper in rail.keepers or (_keeper(_rail_name(rail), f"rail {rail.label}", "rails"),):
                rails.setdefault(keeper, []).append(rail)
        elif rail.hosts:
            rails.setdefault(_keeper(HOSTS, "the hosts' own addresses", HOSTS), []).append(rail)
    entries = {entry.key: entry for entry in diff.resources}
    for keeper, served in rails.items():
        if keeper.key in removed:
            continue
        # The resource itself may be unchanged while the holders of its addresses differ.
        entry = entries.get(keeper.key) or ResourceDiff(verdict="changed", **dict(keeper))
        by = tuple(reason.key for rail in served for reason in rail.reasons)
        danger, reasons = _danger(entry, "moved"), filter(None, (why(entry, "moved"), share_reason(served)))
        update = {"alternative": alternative(entry.type, entry.component, "moved", by)} if by else {}
        yield danger.model_copy(update={"why": "; ".join(reasons), **update})


def _rail_name(rail: RailDiff) -> str:
    return f"{rail.fabric}-rail-{rail.rail:02d}".lstrip("-")


def _keeper(name: str, identity: str, component: str) -> Keeper:
    return Keeper(name=name, type="", identity=identity, component=component)


def _another_cluster(diff: PlanDiff) -> Iterator[Danger]:
    """The danger that the plan is for another cluster than before."""
    if (place := diff.place) is not None:
        yield Danger(
            resource=place.resource,
            component=CLUSTER,
            type=place.type,
            identity=place.identity,
            effect="moved",
            why=place_reason(place),
            lost=place.lost,
            takes_a_cluster=True,
            alternative=alternative(place.type, CLUSTER, "moved", (place.key,)),
        )


def _danger(entry: ResourceDiff, effect: Effect) -> Danger:
    paths = tuple(change.path for change in deciding_changes(entry, effect))
    return Danger(
        resource=entry.name,
        component=entry.component,
        type=entry.type,
        identity=entry.identity,
        effect=effect,
        why=why(entry, effect),
        lost=entry.lost,
        networks=entry.networks,
        carries=carried(entry.type) if effect in ("replaced", "deleted") else "",
        protected=entry.protected,
        alternative=alternative(entry.type, entry.component, effect, paths),
    )


def _add_consequences(
    danger: Danger,
    removed: Mapping[Key, ResourceDiff],
    causes: Collection[Key],
    whole: Loss,
    covered: Mapping[Key, Key | None],
) -> Danger:
    """A danger with what is deleted because of it; without a loss of its own, it has the losses of those resources."""
    caused: dict[Key, ResourceDiff] = {}
    holders = {danger.key}
    while more := [
        entry
        for entry in removed.values()
        if entry.key not in caused and entry.key not in causes and holders & {entry.follows, *entry.held_by}
    ]:
        caused |= {entry.key: entry for entry in more}
        holders = {entry.key for entry in more}
    networks = dict.fromkeys(name for entry in caused.values() for name in entry.networks)
    lost = danger.lost if danger.lost != Loss() else _common_loss(caused, whole)
    types = {danger.type, *(entry.type for entry in caused.values())}
    of_cloud = (
        entry.key
        for entry in caused.values()
        if entry.component == CLUSTER and not why_no_loss(entry.type, entry.verdict)
    )
    # Networks that are deleted with a pool are named as networks.
    within = () if danger.component in POOLS else tuple(_within(danger.key, covered))
    return danger.model_copy(
        update={
            "takes": (*of_cloud, *within),
            "takes_a_cluster": danger.takes_a_cluster
            or (danger.effect in ("replaced", "deleted") and not types.isdisjoint(CLUSTERS)),
            "lost": lost,
            "networks": danger.networks or tuple(networks),
        }
    )


def _within(cause: Key, covered: Mapping[Key, Key | None]) -> Iterator[Key]:
    """The resources that are deleted with a cause, and with those."""
    for key, by in covered.items():
        if by == cause:
            yield key
            yield from _within(key, covered)


def _common_loss(caused: Mapping[Key, ResourceDiff], whole: Loss) -> Loss:
    """The common losses of resources; a resource that is within another one is not counted twice."""
    losing = {key for key, entry in caused.items() if entry.lost != Loss()}
    outer = [entry.lost for entry in caused.values() if losing.isdisjoint(entry.held_by)]
    return together(outer).within(whole)


# The most properties, or rails, that are listed.
_MOST = 3
_LONGEST = 60

_ELSEWHERE = {
    "cluster.region": "nothing of this stack exists in the new region",
    "clusterId": "its stack has created another cluster since, and everything on the old one counts as deleted with it",
    "kubeconfig": "the kubeconfig leads to another cluster than in the last run: everything on that one would be "
    "deleted, and re-created on this one",
}
_ON_ANOTHER = "everything on the one cluster is deleted, and created again on the other"


def why(entry: ResourceDiff, effect: Effect) -> str:
    """Why a resource is replaced, deleted, smaller or moved: properties with their values before and after."""
    if effect == "deleted":
        return "no longer planned"
    changes = deciding_changes(entry, effect)
    words = [
        *map(_change, changes),
        *_groups(entry),
        *(entry.reasons if effect in ("replaced", "renewed", "smaller") else ()),
    ]
    return "; ".join(first_words(words, _MOST))


def deciding_changes(entry: ResourceDiff, effect: Effect) -> tuple[Change, ...]:
    """The changes that cause the effect; all changes where the cause is not known."""
    if effect == "replaced":
        return tuple(change for change in entry.changes if change.forces)
    if effect == "renewed":
        return tuple(change for change in entry.changes if change.renews)
    if effect == "kept":
        return mismatched_changes(entry)
    moving = tuple(change for change in entry.changes if moves(entry.type, change.path))
    fewer = tuple(filter(is_less, entry.changes))
    return {"moved": moving, "smaller": fewer}.get(effect) or entry.changes


def mismatched_changes(entry: ResourceDiff) -> tuple[Change, ...]:
    """Changes without effect, after which the plan no longer matches what exists.

    A property that was not stated before may match.
    """
    return tuple(change for change in entry.without_effect if change.kind != "added" and moves(entry.type, change.path))


def is_less(change: Change) -> bool:
    """Whether a number gets smaller or is removed, such as the number of a pool's machines."""
    old, new = number(change.old), number(change.new)
    return old is not None and (change.kind == "removed" if new is None else new < old)


def share_reason(rails: Iterable[RailDiff]) -> str:
    """How many nodes get other addresses, on which rails, and why."""
    served = list(rails)
    words = list(dict.fromkeys(reason.text for rail in served for reason in rail.reasons))
    nodes = max(len(rail.moved) for rail in served)
    hosts = 0 if nodes else max(len(rail.hosts) for rail in served)
    where = f"rail{'s' * (len(served) > 1)} {first_names([rail.label for rail in served], _MOST)}"
    count = quantity(nodes, "node") if nodes else quantity(hosts, "host")
    verb = "gets" if max(nodes, hosts) == 1 else "get"
    got = [f"{count} {verb} other addresses on {where}"] if nodes or hosts else [f"on {where}"]
    example = next((f"{move.node}: {move.old} → {move.new}" for rail in served for move in rail.hosts), "")
    return "; ".join([*first_words(words, _MOST), *got, *([f"such as {example}"] if hosts else [])])


def place_reason(place: PlaceDiff) -> str:
    """The old and the new place of the cluster, and what happens because of it."""
    old, new = (value or "not stated" for value in (place.old, place.new))
    return f"{place.key}: {old} → {new}: {_ELSEWHERE.get(place.key, _ON_ANOTHER)}"


def _groups(entry: ResourceDiff) -> Iterator[str]:
    for group in entry.groups:
        if group.removed:
            yield f"{len(group.removed)} {group.kind} fewer, such as {group.removed[0]}"


def _change(change: Change) -> str:
    if change.kind == "added":
        return f"{change.path}: {_value(change.new)} added"
    if change.kind == "removed":
        return f"{change.path}: {_value(change.old)} removed"
    return f"{change.path}: {_value(change.old)} → {_value(change.new)}"


def _value(value: Any) -> str:
    value = digest_long_texts(value)
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
