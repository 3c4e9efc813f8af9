"""Which resources are created, changed, made anew or deleted, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.diff.changes import Found, differences
from fabric.diff.model import Change, GroupChange, ResourceDiff
from fabric.diff.replacements import rules_of, touches
from fabric.progress import UNHEARD, Progress
from fabric.render import RenderedPlan, RenderedResource
from fabric.resources import OF_MACHINES, Handling, Loss
from fabric.resources.dynamic import DYNAMIC, KEPT_OBJECTS
from fabric.resources.objects import KUBERNETES
from fabric.resources.order import CLUSTER

Key = tuple[str, str]
"""Type and name of a resource."""

OUTPUT = re.compile(r"<output ([^>]+)\.[^.>]+>")
"""What stands in a property for another resource's output, whose name it finds."""

CLUSTERS = ("digitalocean:index/kubernetesCluster:KubernetesCluster", "oci:ContainerEngine/cluster:Cluster")
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_DIGEST = re.compile(r"-[0-9a-f]{8}(?=-|$)")
# Written by the components for the engine to wait by: they change with whatever else does.
_BY_CONTENT = ("gpu-fabric/awaited", "pulumi.com/waitFor")
# It follows from whether the cluster is protected, and changes nothing that is made.
_BY_PROTECTION = frozenset({"deleted_with"})


def resource_diffs(
    base: RenderedPlan, head: RenderedPlan, progress: Progress = UNHEARD, left: str | None = None
) -> Iterator[ResourceDiff]:
    """Every resource that differs, in the order in which they are made, and then those that are deleted.

    `left` is the provider of what lies on the cluster, where that is another cluster's afterwards.
    """
    before, after = ({(entry.type, entry.name): entry for entry in plan.resources} for plan in (base, head))
    renamed = dict(_renamed(before, after))
    old_of = {key: before.get(renamed.get(key, key)) for key in after}
    both = progress.each("comparing", old_of.items(), "resources")
    compared = {key: _compared(old, after[key]) for key, old in both if old is not None}
    gone = before.keys() - after.keys() - set(renamed.values())
    # A cluster that is no longer planned takes along what lies on it, wherever that is planned afterwards.
    left = next((name for kind, name in before if kind in CLUSTERS and (kind, name) in gone), left)
    away = _carry_on(compared, old_of, after, {before[key].name for key in gone}, left)
    for key, resource in after.items():
        if (old := old_of[key]) is None:
            yield _told("created", resource)
        elif _differs(found := compared[key]):
            yield _with_losses(found, old, resource, away)
    for key in before:
        if key in gone:
            old = before[key]
            yield _told("deleted", old).model_copy(
                update={
                    "lost": old.loss,
                    "protected": old.handling.protect,
                    "retained": old.handling.retain_on_delete,
                    "follows": left if _lies_on_cluster(old) else None,
                    "held_by": _held_by(old, away),
                }
            )


def _differs(found: ResourceDiff) -> bool:
    return found.verdict == "replaced" or bool(found.changes or found.groups or found.handling or found.reasons)


def _told(verdict: str, resource: RenderedResource, **more: Any) -> ResourceDiff:
    return ResourceDiff.model_validate(
        {
            "verdict": verdict,
            "name": resource.name,
            "type": resource.type,
            "identity": resource.identity,
            "component": resource.component,
            **more,
        }
    )


def _renamed(
    before: Mapping[Key, RenderedResource], after: Mapping[Key, RenderedResource]
) -> Iterator[tuple[Key, Key]]:
    """Immutable ConfigMaps by their new key: new content is a new object, whose name carries its digest."""
    old, new = _by_content_name(before, after), _by_content_name(after, before)
    for name, keys in new.items():
        if len(keys) == len(old.get(name, ())) == 1:
            yield keys[0], old[name][0]


def _by_content_name(
    ours: Mapping[Key, RenderedResource], others: Mapping[Key, RenderedResource]
) -> dict[Key, list[Key]]:
    """Immutable ConfigMaps that the other plan has not, by their names without digest."""
    found: dict[Key, list[Key]] = {}
    for key, resource in ours.items():
        if key not in others and _carries_digest(resource):
            found.setdefault(_undigested(key), []).append(key)
    return found


def _carries_digest(resource: RenderedResource) -> bool:
    return resource.type == _CONFIG_MAP and bool(resource.properties.get("immutable"))


def _undigested(key: Key) -> Key:
    return key[0], _DIGEST.sub("", key[1])


def _compared(old: RenderedResource, new: RenderedResource) -> ResourceDiff:
    rules, ignored = rules_of(new.type), new.handling.ignore_changes
    before, after = old.properties, new.properties
    groups: tuple[GroupChange, ...] = ()
    if new.type == KEPT_OBJECTS:
        groups = tuple(_groups(before["objects"], after["objects"]))
        before, after = ({k: v for k, v in entry.items() if k != "objects"} for entry in (before, after))
    found = [entry for entry in differences(before, after) if not (ignored and touches(ignored, entry))]
    also = new.handling.replace_on_changes
    changes = [
        entry.change(
            forces=rules.forces(entry) or (bool(also) and touches(also, entry)),
            renews=rules.renews(entry, before, after),
        )
        for entry in _telling(found)
    ]
    anew = any(change.forces for change in changes)
    return _told(
        "replaced" if anew else "changed",
        new,
        identity=old.identity,
        changes=tuple(changes),
        renewed=not anew and any(change.renews for change in changes),
        groups=groups,
        handling=tuple(_handling(old.handling, new.handling)),
        reasons=("new content is a new object, which jobs name by the new contract",) if old.name != new.name else (),
    )


def _telling(found: list[Found]) -> list[Found]:
    """Changes without those that follow from the others."""
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
        before, after = (
            entry.model_dump(mode="json", by_alias=True, exclude=set(_BY_PROTECTION)) for entry in (old, new)
        )
        for found in differences(before, after):
            yield found.change()


def _carry_on(
    compared: dict[Key, ResourceDiff],
    old_of: Mapping[Key, RenderedResource | None],
    after: Mapping[Key, RenderedResource],
    gone: set[str],
    left: str | None = None,
) -> set[str]:
    """Make anew, too, what refers to something that is made anew by a property that cannot change in place.

    Gives the names of all that goes.
    """
    needed = {key: tuple(_references(after[key])) for key in compared}
    anew = gone | {entry.name for entry in compared.values() if entry.verdict == "replaced"}
    cluster, known = left, -1
    while known != len(anew):
        known = len(anew)
        cluster = cluster or next((name for kind, name in compared if kind in CLUSTERS and name in anew), None)
        for key, entry in compared.items():
            if entry.verdict == "replaced":
                continue
            if cluster is not None and _lies_on_cluster(after[key]):
                update: dict[str, Any] = {"follows": cluster}
            elif because := [one for one in needed[key] if one.old in anew and rules_of(key[0]).forces(one)]:
                update = {"reasons": _because(because)}
            else:
                continue
            compared[key] = entry.model_copy(update={"verdict": "replaced", "renewed": False, **update})
            anew.add(after[key].name)
    for key, entry in compared.items():
        if entry.verdict == "changed" and (because := [one for one in needed[key] if one.old in anew]):
            renewed = entry.renewed or any(_renews(one, old_of[key], after[key]) for one in because)
            compared[key] = entry.model_copy(update={"reasons": _because(because), "renewed": renewed})
    return anew


def _renews(reference: Found, old: RenderedResource | None, new: RenderedResource) -> bool:
    return old is not None and rules_of(new.type).renews(reference, old.properties, new.properties)


def _because(references: list[Found]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{one.path} is an output of {one.old}, which goes" for one in references))


def _lies_on_cluster(resource: RenderedResource) -> bool:
    return resource.provider == f"{CLUSTER}-{KUBERNETES}" or resource.type.startswith(DYNAMIC)


def _references(resource: RenderedResource) -> Iterator[Found]:
    """Outputs of other resources among the properties, as changes from the name of the resource that has them."""

    def walk(value: Any, keys: tuple[str, ...], path: str) -> Iterator[Found]:
        if isinstance(value, str):
            for name in OUTPUT.findall(value) if "<output " in value else ():
                yield Found(keys, path, "changed", name, None)
        elif isinstance(value, dict):
            for key, entry in value.items():
                yield from walk(entry, (*keys, key), f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for entry in value:
                yield from walk(entry, keys, path)

    if not _lies_on_cluster(resource):
        yield from walk(resource.properties, (), "")


def _held_by(resource: RenderedResource, away: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(one.old) for one in _references(resource) if one.old in away))


def _with_losses(found: ResourceDiff, old: RenderedResource, new: RenderedResource, away: set[str]) -> ResourceDiff:
    anew = found.verdict == "replaced"
    # What holds pools loses none of their nodes in place: each of them says itself what it loses.
    counts = new.type in OF_MACHINES or not old.loss.nodes
    fewer = old.loss.beyond(new.loss) if counts else Loss()
    return found.model_copy(
        update={
            "lost": old.loss if anew or found.renewed else fewer,
            "held_by": _held_by(old, away) if anew else (),
            "first_deleted": anew and old.name == new.name and new.handling.delete_before_replace,
            "protected": anew and old.handling.protect,
        }
    )
