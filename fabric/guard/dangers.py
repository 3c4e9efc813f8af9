"""Which changes between two plans lose nodes, networks or addresses in use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from fabric.diff.model import PlanDiff, RailDiff, ResourceDiff
from fabric.diff.resources import CLUSTERS
from fabric.guard.alternatives import alternative, is_harmless, moves
from fabric.guard.model import INSTANCE, Danger, Effect
from fabric.guard.reasons import deciding, place_reason, share_reason, why
from fabric.resources import Loss, together
from fabric.resources.order import CLUSTER

_CLOUDS = ("digitalocean:", "oci:")
_POOLS = ("ip-pools", "node-pools")
_NETWORKS, _NAMESPACES, _RAILS = "networks", "namespaces", "rails"


class Known(Protocol):
    """What a resource of a plan, and one that differs, have in common."""

    @property
    def type(self) -> str:
        """The provider's token."""

    @property
    def component(self) -> str:
        """The engine's name of its component."""


def guarded(resource: Known) -> bool:
    """Whether the guard needs to know of a resource: because it watches it, or because it leads to one."""
    return resource.type.startswith(_CLOUDS) or resource.component in (*_POOLS, _NETWORKS, _NAMESPACES)


def dangers(diff: PlanDiff) -> tuple[Danger, ...]:
    """The causes of all that is lost, in the order of the difference.

    What goes because something else goes is told with that: it lies on it, refers to it, or is reached by it.
    """
    going = {entry.name: entry for entry in diff.resources if entry.verdict in ("replaced", "deleted")}
    effects = {entry.name: effect for entry in diff.resources if (effect := _effect(entry)) is not None}
    causes = {
        entry.name: _danger(entry, effects[entry.name])
        for entry in diff.resources
        if entry.name in effects and not _goes_along(entry, going, effects)
    }
    found = {name: danger for name, danger in causes.items() if not _is_reached(danger, causes.values())}
    for danger in (*_moved(diff, going), *_elsewhere(diff)):
        found.setdefault(danger.resource, danger)
    return tuple(_with_what_it_takes(danger, going, found.keys(), diff.lost) for danger in found.values())


def _effect(entry: ResourceDiff) -> Effect | None:
    """What happens to a resource that is watched; None where nothing is lost by it."""
    if entry.follows is not None or entry.retained or not guarded(entry):
        return None
    moved = any(moves(entry.type, change.path) for change in entry.changes)
    if entry.verdict == "changed":
        if entry.renewed and entry.lost.nodes:
            return "renewed"
        fewer = entry.component == CLUSTER and entry.lost.nodes
        removed = entry.lost.addresses and any(group.removed for group in entry.groups)
        return "smaller" if fewer or removed else "moved" if moved else None
    if entry.verdict == "created" or not _is_watched(entry):
        return "moved" if moved else None
    return "deleted" if entry.verdict == "deleted" else "replaced"


def _is_watched(entry: ResourceDiff) -> bool:
    if entry.component in _POOLS:
        return bool(entry.lost.addresses)
    if entry.component in (_NETWORKS, _NAMESPACES):
        # Operators' own namespaces hold no jobs.
        return bool(entry.networks)
    # A host that people log in to is a machine, and no node.
    return not is_harmless(entry.type) and (entry.type != INSTANCE or bool(entry.lost.nodes))


def _goes_along(entry: ResourceDiff, going: Mapping[str, ResourceDiff], effects: Mapping[str, Effect]) -> bool:
    """Whether a resource goes for another that is told, and for no change of its own.

    A cluster that is deleted is told by its own name, whatever goes with it.
    """
    own = any(change.forces for change in entry.changes) or (entry.verdict == "deleted" and entry.type in CLUSTERS)
    return not own and any(_leads_up(name, going, effects) for name in entry.held_by)


def _leads_up(name: str, going: Mapping[str, ResourceDiff], effects: Mapping[str, Effect]) -> bool:
    return name in effects or (name in going and any(_leads_up(one, going, effects) for one in going[name].held_by))


def _is_reached(danger: Danger, causes: Iterable[Danger]) -> bool:
    """Whether a network of jobs goes with the pool of its addresses, or with the namespace that it lies in."""
    if danger.component != _NETWORKS:
        return False
    place = danger.identity.split(" ")[-1].partition("/")[0]
    return any(
        (cause.component in _POOLS and set(danger.networks) <= set(cause.networks))
        or (cause.component == _NAMESPACES and cause.identity.split(" ")[-1] == place)
        for cause in causes
    )


def _moved(diff: PlanDiff, going: Mapping[str, ResourceDiff]) -> Iterator[Danger]:
    """Rails on which nodes that stay get other addresses, by what keeps those."""
    rails: dict[str, list[RailDiff]] = {}
    for rail in diff.rails:
        if rail.moved:
            for name in rail.kept_in or (f"rail-{rail.rail:02d}",):
                rails.setdefault(name, []).append(rail)
    entries = {entry.name: entry for entry in diff.resources}
    for name, served in rails.items():
        if name in going:
            continue
        # What hands out addresses by itself may stay as it is, and goes by its component's name all the same.
        component = next((one for one in (*_POOLS, _NETWORKS) if name.startswith(f"{one}-")), _RAILS)
        entry = entries.get(name) or ResourceDiff(
            verdict="changed", name=name, type="", identity=f"rail {served[0].rail}", component=component
        )
        danger = _danger(entry, "moved")
        reasons = filter(None, (danger.why, share_reason(served)))
        yield danger.model_copy(update={"why": "; ".join(reasons)})


def _elsewhere(diff: PlanDiff) -> Iterator[Danger]:
    """A cluster that is looked for where it is not."""
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
    paths = tuple(change.path for change in deciding(entry, effect))
    return Danger(
        resource=entry.name,
        component=entry.component,
        type=entry.type,
        identity=entry.identity,
        effect=effect,
        why=why(entry, effect),
        lost=entry.lost,
        networks=entry.networks,
        protected=entry.protected,
        alternative=alternative(entry.type, entry.component, effect, paths),
    )


def _with_what_it_takes(
    danger: Danger, going: Mapping[str, ResourceDiff], causes: Collection[str], whole: Loss
) -> Danger:
    """A danger with what goes because of it, and with the losses of that where it counts none itself."""
    taken: dict[str, ResourceDiff] = {}
    holders = {danger.resource}
    while more := [
        entry
        for entry in going.values()
        if entry.name not in taken and entry.name not in causes and holders & {entry.follows, *entry.held_by}
    ]:
        taken |= {entry.name: entry for entry in more}
        holders = {entry.name for entry in more}
    networks = dict.fromkeys(name for entry in taken.values() for name in entry.networks)
    lost = danger.lost if danger.lost != Loss() else _counted(taken, whole)
    types = {danger.type, *(entry.type for entry in taken.values())}
    of_cloud = (entry.name for entry in taken.values() if entry.component == CLUSTER and not is_harmless(entry.type))
    return danger.model_copy(
        update={
            "takes": tuple(of_cloud),
            "takes_a_cluster": danger.takes_a_cluster
            or (danger.effect in ("replaced", "deleted") and not types.isdisjoint(CLUSTERS)),
            "lost": lost,
            "networks": danger.networks or tuple(networks),
        }
    )


def _counted(taken: Mapping[str, ResourceDiff], whole: Loss) -> Loss:
    """What resources lose together; what lies within one that loses something is lost with that."""
    outer = [entry.lost for entry in taken.values() if not any(_loses(taken.get(name)) for name in entry.held_by)]
    return together(outer).within(whole)


def _loses(entry: ResourceDiff | None) -> bool:
    return entry is not None and entry.lost != Loss()
