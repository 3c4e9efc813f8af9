"""Objects and namespaces that are being deleted, and why they stay: what removes their finalizers does not run."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.base import compact_json
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, name_of, namespace_of, path_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.existing_objects import found_objects, is_going
from gpu_fabric.live.owners import Owner, Presence, is_of, owners, presence
from gpu_fabric.live.several import some
from gpu_fabric.live.stack import POLICY, Stack
from gpu_fabric.live.steps import Edit, uid_of
from gpu_fabric.spec.places import dotted

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Reasons for which a namespace stays, and not only takes its time.
_STUCK = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceFinalizersRemaining",
)


def deleted_objects(case: Examination) -> Iterator[Finding]:
    """Objects that are being deleted: before `up` the stack's, later those whose finalizer's owner does not run."""
    if case.phase == "before":
        yield from _of_the_stack(case)
        return
    for owner in owners():
        here = presence(case.cluster, owner)
        if here is not Presence.READY:
            for kind, path, item in _deleted_objects(case.cluster, owner):
                yield from _held(case, owner, here, kind, path, item)


def _of_the_stack(case: Examination) -> Iterator[Finding]:
    going: dict[str, list[Json]] = {}
    for entry, item in found_objects(case.stack, case.cluster):
        kind, planned = entry.object.kind, entry.object
        if item is None or not is_going(item) or kind in ("Namespace", POLICY):
            continue
        held = field(item, "metadata", "finalizers") or ()
        owner = next((row for row in owners() if any(map(row.removes, held))), None)
        if owner is not None and presence(case.cluster, owner) is Presence.GONE:
            path = api_path(planned.api_version, planned.plural)
            yield from _held(case, owner, Presence.GONE, kind, path, item)
        else:
            going.setdefault(kind, []).append(item)
    for kind, items in going.items():
        names = [called(kind, item) for item in items]
        held = field(items[0], "metadata", "finalizers") or ()
        yield finding(
            "PRE031",
            dotted(("fabric",)),
            f"{some(names)} {'is' if len(names) == 1 else 'are'} being deleted, and the stack applies the same name",
            seen=Seen(object=names[0], field="metadata.finalizers", value=", ".join(held) or "none"),
        )


def deleted_namespaces(case: Examination) -> Iterator[Finding]:
    """Namespaces that are being deleted: before `up` the stack's, later those that cannot be, with the reason."""
    for name, item in case.cluster.namespaces.items():
        if not is_going(item) or (case.phase == "before" and name not in case.stack.every_namespace):
            continue
        reasons = [
            entry
            for entry in field(item, "status", "conditions") or ()
            if entry.get("status") == "True" and entry.get("type") in _STUCK
        ]
        yield _stuck(case.cluster, name, item, reasons) if reasons else _going(case.stack, name, item)


def _going(stack: Stack, name: str, item: Json) -> Finding:
    return finding(
        "PRE041",
        dotted(("fabric", "namespaces") if name in stack.jobs_namespaces else ("software",)),
        f"namespace {name} is being deleted: nothing can be created in it",
        f"wait until it is gone; what is left in it is among its conditions: `kubectl get namespace {name} -o yaml`",
        seen=Seen(object=f"Namespace {name}", field="status.phase", value=str(field(item, "status", "phase"))),
    )


def _stuck(cluster: Cluster, name: str, item: Json, reasons: list[Json]) -> Finding:
    return finding(
        "DOC032",
        "",
        f"namespace {name} has been Terminating since {field(item, 'metadata', 'deletionTimestamp')}",
        seen=[
            *(
                Seen(
                    object=f"Namespace {name}",
                    field=f"status.conditions[{entry['type']}]",
                    value=str(entry.get("message") or entry.get("reason") or "True"),
                )
                for entry in reasons
            ),
            *_left_in(cluster, name, str(field(item, "status", "conditions"))),
        ],
    )


def _left_in(cluster: Cluster, namespace: str, conditions: str) -> Iterator[Seen]:
    """The objects of a namespace, of the kinds that the API server counts in its conditions."""
    for definition in cluster.items(_DEFINITIONS):
        if f"{name_of(definition)} has " not in conditions or not (version := _served(definition)):
            continue
        spec = definition["spec"]
        for item in cluster.items(api_path(f"{spec['group']}/{version}", spec["names"]["plural"], namespace)):
            yield Seen(
                object=called(spec["names"]["kind"], item),
                field="metadata.finalizers",
                value=", ".join(field(item, "metadata", "finalizers") or ()) or "none",
            )


def _deleted_objects(cluster: Cluster, owner: Owner) -> Iterator[tuple[str, str, Json]]:
    """Kind, path and object of what is being deleted among an operator's kinds and pods."""
    collections = [
        (str(field(item, "spec", "names", "kind")), api_path(f"{group}/{version}", plural))
        for item in cluster.items(_DEFINITIONS)
        if (group := field(item, "spec", "group")) in owner.groups
        and (plural := field(item, "spec", "names", "plural"))
        and (version := _served(item))
    ]
    if owner.pods:
        collections.append(("Pod", f"/api/v1/pods?labelSelector={quote(owner.pods, safe='')}"))
    for kind, path in collections:
        for item in cluster.items(path):
            if field(item, "metadata", "deletionTimestamp"):
                yield kind, path.partition("?")[0], item


def _served(definition: Json) -> str:
    """The version in which a kind is read: the stored one, where it is served."""
    versions = field(definition, "spec", "versions") or ()
    served = sorted((not entry.get("storage"), entry["name"]) for entry in versions if entry.get("served"))
    return served[0][1] if served else ""


def _held(case: Examination, owner: Owner, here: Presence, kind: str, path: str, item: Json) -> Iterator[Finding]:
    present = list(field(item, "metadata", "finalizers") or ())
    held = [name for name in present if owner.removes(name)]
    if not held:
        return
    name, since = called(kind, item), field(item, "metadata", "deletionTimestamp")
    seen = [
        Seen(object=name, field="metadata.deletionTimestamp", value=str(since)),
        Seen(object=name, field="metadata.finalizers", value=", ".join(present)),
    ]
    if here is Presence.DOWN:
        yield finding("DOC031", "", f"{name} waits for {owner.title}, which has no ready pod", seen=seen)
        return
    kept = [entry for entry in present if entry not in held]
    place = path_of(path, item)
    yield finding(
        "DOC030",
        "",
        f"{name} is never deleted: {', '.join(held)} is removed by {owner.title} alone, which does not exist any more",
        f"remove it: `kubectl patch {kind.lower()} {_target(item)} --type merge "
        f'-p \'{{"metadata":{{"finalizers":{compact_json(kept)}}}}}\'`',
        seen=seen,
        steps=[
            Edit(
                path=place,
                uid=uid_of(item),
                expects={"metadata": {"finalizers": present, "deletionTimestamp": since}},
                merge={"metadata": {"finalizers": kept}},
                words=f"remove the finalizer {', '.join(held)} from {name}",
            )
        ],
        is_own=is_of(case.stack, owner),
    )


def _target(item: Json) -> str:
    namespace = namespace_of(item)
    return f"{name_of(item)} -n {namespace}" if namespace else name_of(item)
