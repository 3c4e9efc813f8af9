"""Which resources are created, changed, replaced or deleted, why, and what is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.changes.model import Change, GroupChange, Key, ResourceDiff, Verdict
from gpu_fabric.changes.properties import OUTPUT, Difference, differences, rules_of, touches
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.render.model import RenderedPlan, RenderedResource
from gpu_fabric.resources import Handling
from gpu_fabric.resources.dynamic import DYNAMIC, KEPT_OBJECTS
from gpu_fabric.resources.losses import OF_MACHINES, Loss, together
from gpu_fabric.resources.objects import KUBERNETES
from gpu_fabric.resources.order import CLUSTER

CLUSTERS = ("digitalocean:index/kubernetesCluster:KubernetesCluster", "oci:ContainerEngine/cluster:Cluster")
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_DIGEST = re.compile(r"-[0-9a-f]{8}(?=-|$)")
# The components write these annotations for Pulumi to wait by; they change with any other change of the object.
_BY_CONTENT = ("gpu-fabric/awaited", "pulumi.com/waitFor")


def resource_diffs(
    base: RenderedPlan, head: RenderedPlan, progress: Progress = NO_PROGRESS, left: Key | None = None
) -> Iterator[ResourceDiff]:
    """Every resource that differs, in creation order, followed by the deleted ones.

    `left` is the provider of everything on the cluster, where the later plan is for another cluster.
    """
    before, after = ({(entry.type, entry.name): entry for entry in plan.resources} for plan in (base, head))
    renamed = dict(_renamed_config_maps(before, after))
    old_of = {key: before.get(renamed.get(key, key)) for key in after}
    both = progress.each("comparing", old_of.items(), "resources")
    compared = {key: _compare(old, after[key]) for key, old in both if old is not None}
    deleted = before.keys() - after.keys() - set(renamed.values())
    # Everything on a deleted cluster is deleted with it, even where it is planned on another one.
    left = next((key for key in before if key[0] in CLUSTERS and key in deleted), left)
    removed = _spread_replacements(compared, old_of, after, deleted, left)
    for key, resource in after.items():
        if (old := old_of[key]) is None:
            yield _diff_of("created", resource)
        elif _differs(found := compared[key]):
            yield _add_losses(found, old, resource, removed)
        elif found.without_effect:
            yield found.model_copy(update={"verdict": "kept"})
    for key in before:
        if key in deleted:
            old = before[key]
            yield _diff_of("deleted", old).model_copy(
                update={
                    "lost": old.loss,
                    "protected": old.handling.protect,
                    "retained": old.handling.retain_on_delete,
                    "follows": left if _is_on_cluster(old) else None,
                    "held_by": _held_by(old, removed),
                }
            )


def _differs(found: ResourceDiff) -> bool:
    return found.verdict == "replaced" or bool(found.changes or found.groups or found.handling or found.reasons)


def _diff_of(verdict: Verdict, resource: RenderedResource, **more: Any) -> ResourceDiff:
    known = {field: getattr(resource, field) for field in ("name", "type", "identity", "component")}
    return ResourceDiff(verdict=verdict, **{**known, **more})


def _renamed_config_maps(
    before: Mapping[Key, RenderedResource], after: Mapping[Key, RenderedResource]
) -> Iterator[tuple[Key, Key]]:
    """Immutable ConfigMaps with new content, as new key and old key: their names contain a digest of the content."""
    old, new = _group_by_content_name(before, after), _group_by_content_name(after, before)
    for name, keys in new.items():
        if len(keys) == len(old.get(name, ())) == 1:
            yield keys[0], old[name][0]


def _group_by_content_name(
    ours: Mapping[Key, RenderedResource], others: Mapping[Key, RenderedResource]
) -> dict[Key, list[Key]]:
    """Immutable ConfigMaps that the other plan does not have, by their names without digest."""
    found: dict[Key, list[Key]] = {}
    for key, resource in ours.items():
        if key not in others and resource.type == _CONFIG_MAP and resource.properties.get("immutable"):
            found.setdefault((resource.type, _DIGEST.sub("", resource.name)), []).append(key)
    return found


def _compare(old: RenderedResource, new: RenderedResource) -> ResourceDiff:
    rules, ignored = rules_of(new.type), new.handling.ignore_changes
    before, after = old.properties, new.properties
    groups: tuple[GroupChange, ...] = ()
    if new.type == KEPT_OBJECTS:
        groups = tuple(_groups(before["objects"], after["objects"]))
        before, after = ({k: v for k, v in entry.items() if k != "objects"} for entry in (before, after))
    found: list[Difference] = []
    ignored_changes: list[Difference] = []
    for entry in differences(before, after):
        (ignored_changes if ignored and touches(ignored, entry) else found).append(entry)
    also = new.handling.replace_on_changes
    changes = tuple(
        entry.change(
            forces=rules.forces(entry) or (bool(also) and touches(also, entry)),
            renews=rules.renews(entry, before, after),
        )
        for entry in _drop_consequences(found)
    )
    replaced = any(change.forces for change in changes)
    return _diff_of(
        "replaced" if replaced else "changed",
        new,
        identity=old.identity,
        changes=changes,
        without_effect=tuple(entry.change() for entry in ignored_changes),
        renewed=not replaced and any(change.renews for change in changes),
        groups=groups,
        handling=tuple(_handling(old.handling, new.handling)),
        reasons=tuple(_reasons(old, new, changes)),
    )


def _reasons(old: RenderedResource, new: RenderedResource, changes: tuple[Change, ...]) -> Iterator[str]:
    """What no property says."""
    if old.name != new.name:
        yield "new content is a new object, which jobs name by the new contract"
    if new.type in OF_MACHINES and new.loss.nodes < old.loss.nodes and not changes:
        # At Oracle, the autoscaler's add-on has the bounds, and not the pool.
        yield f"nodes at most: {old.loss.nodes} → {new.loss.nodes}"


def _drop_consequences(found: list[Difference]) -> list[Difference]:
    """Changes without those that follow from other changes."""
    return [entry for entry in found if not entry.keys or entry.keys[-1] not in _BY_CONTENT] or found


def _groups(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GroupChange]:
    for kind in sorted(old.keys() | new.keys()):
        before, after = old.get(kind, {}), new.get(kind, {})
        change = GroupChange(
            kind=kind,
            added=tuple(name for name in after if name not in before),
            removed=tuple(name for name in before if name not in after),
            changed=tuple(name for name in after if name in before and before[name] != after[name]),
        )
        if change.added or change.removed or change.changed:
            yield change


def _handling(old: Handling, new: Handling) -> Iterator[Change]:
    if old != new:
        # `deleted_with` follows from the cluster's protection and changes nothing that exists.
        before, after = (entry.model_dump(mode="json", by_alias=True, exclude={"deleted_with"}) for entry in (old, new))
        for found in differences(before, after):
            yield found.change()


def _spread_replacements(
    compared: dict[Key, ResourceDiff],
    old_of: Mapping[Key, RenderedResource | None],
    after: Mapping[Key, RenderedResource],
    deleted: set[Key],
    left: Key | None = None,
) -> set[Key]:
    """Also replace each resource that refers to a replaced one by a property that cannot change in place.

    Returns all replaced and deleted resources.
    """
    needed = {key: tuple(_references(after[key])) for key in compared}
    replaced = deleted | {key for key, entry in compared.items() if entry.verdict == "replaced"}
    names, cluster, known = _referable(replaced), left, -1
    while known != len(replaced):
        known = len(replaced)
        cluster = cluster or next((key for key in compared if key[0] in CLUSTERS and key in replaced), None)
        for key, entry in compared.items():
            if entry.verdict == "replaced":
                continue
            if cluster is not None and _is_on_cluster(after[key]):
                update: dict[str, Any] = {"follows": cluster}
            elif because := [one for one in needed[key] if one.old in names and rules_of(key[0]).forces(one)]:
                update = {"reasons": _because(because)}
            else:
                continue
            compared[key] = entry.model_copy(update={"verdict": "replaced", "renewed": False, **update})
            replaced.add(key)
            names |= _referable({key})
    for key, entry in compared.items():
        if entry.verdict == "changed" and (because := [one for one in needed[key] if one.old in names]):
            renewed = entry.renewed or any(_renews(one, old_of[key], after[key]) for one in because)
            compared[key] = entry.model_copy(update={"reasons": _because(because), "renewed": renewed})
    return replaced


def _renews(reference: Difference, old: RenderedResource | None, new: RenderedResource) -> bool:
    return old is not None and rules_of(new.type).renews(reference, old.properties, new.properties)


def _because(references: list[Difference]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{one.path} is an output of {one.old}, which is deleted" for one in references))


def _is_on_cluster(resource: RenderedResource) -> bool:
    return resource.provider == f"{CLUSTER}-{KUBERNETES}" or resource.type.startswith(DYNAMIC)


def _referable(keys: Iterable[Key]) -> set[str]:
    """The names by which outputs are referred to: resources of a cloud refer to each other, and to no object."""
    return {name for kind, name in keys if not kind.startswith(("kubernetes:", DYNAMIC))}


def _references(resource: RenderedResource) -> Iterator[Difference]:
    """References to other resources' outputs, as differences whose old value is the other resource's name."""

    def walk(value: Any, keys: tuple[str, ...], path: str) -> Iterator[Difference]:
        if isinstance(value, str):
            for name in OUTPUT.findall(value) if "<output " in value else ():
                yield Difference(keys, path, "changed", name, None)
        elif isinstance(value, dict):
            for key, entry in value.items():
                yield from walk(entry, (*keys, key), f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for entry in value:
                yield from walk(entry, keys, path)

    if not _is_on_cluster(resource):
        yield from walk(resource.properties, (), "")


def _held_by(resource: RenderedResource, removed: set[Key]) -> tuple[Key, ...]:
    names = {one.old: None for one in _references(resource)}
    return tuple(key for name in names for key in sorted(removed) if key[1] == name and _referable({key}))


def _add_losses(found: ResourceDiff, old: RenderedResource, new: RenderedResource, removed: set[Key]) -> ResourceDiff:
    replaced = found.verdict == "replaced"
    # A resource that holds pools loses no nodes in place: each pool reports its own losses.
    counts = new.type in OF_MACHINES or not old.loss.nodes
    fewer = old.loss.beyond(new.loss) if counts else Loss()
    return found.model_copy(
        update={
            "lost": old.loss if replaced or found.renewed else fewer,
            "held_by": _held_by(old, removed) if replaced else (),
            "first_deleted": replaced and old.name == new.name and new.handling.delete_before_replace,
            "protected": replaced and old.handling.protect,
            "retained": replaced and old.handling.retain_on_delete,
        }
    )


def add_networks(found: Iterable[ResourceDiff], base: RenderedPlan) -> tuple[ResourceDiff, ...]:
    """Add to each deleted or smaller resource the job networks that depend on it."""
    named, offered = set[str](), set[str]()
    of_pool: dict[str, list[str]] = {}
    for fabric in base.by_fabric.values():
        attached = fabric.contract.get("networks", ())
        networks = {entry["rail"]: entry["network"] for entry in attached if entry.get("rail") is not None}
        named |= {entry["network"] for entry in attached}
        offered |= set(fabric.contract.get("namespaces", ()))
        for rail in fabric.rails:
            if rail.rail in networks:
                of_pool.setdefault(rail.pool, []).append(networks[rail.rail])
    objects = {(entry.type, entry.name): entry.properties for entry in base.resources}

    def needed(resource: ResourceDiff) -> tuple[str, ...]:
        if resource.verdict not in ("replaced", "deleted") and not resource.renewed:
            return ()
        if resource.lost.nodes and not resource.lost.beside:
            return tuple(sorted(named))
        properties = objects.get((resource.type, resource.name), {})
        metadata = properties.get("metadata") or {}
        name = str(metadata.get("name") or resource.name)
        if resource.component == "networks":
            return (name,) if name in named else ()
        if resource.component == "namespaces":
            # A namespace is deleted with everything in it, first of all the jobs.
            return tuple(sorted(named)) if name in offered else ()
        if resource.component in ("ip-pools", "node-pools"):
            return tuple(of_pool.get(name.removeprefix("node-pools-"), ()))
        return ()

    return tuple(resource.model_copy(update={"networks": needed(resource)}) for resource in found)


def whole_loss(found: Iterable[ResourceDiff], base: RenderedPlan) -> Loss:
    """All losses, counted once: a resource within another lost one is not counted again."""
    lost = [resource for resource in found if resource.lost != Loss()]
    holders = {resource.name for resource in lost if resource.lost.nodes}
    within = {
        (entry.type, entry.name)
        for entry in base.resources
        if entry.name in holders and holders & set(OUTPUT.findall(str(entry.properties)))
    }
    outer = [resource.lost for resource in lost if resource.key not in within]
    # Where nodes can be lost, a cluster exists with which all of them would be lost.
    whole = Loss(
        nodes=max((entry.loss.nodes for entry in base.resources), default=0),
        gpus=max((entry.loss.gpus for entry in base.resources), default=0),
        addresses=sum(pool["needed"] for one in base.by_fabric.values() for pool in one.proof.get("pools", ())),
    )
    return together(outer).within(whole)
