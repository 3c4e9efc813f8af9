"""The plan's objects as they are: deleted, changed, or with fields that others have added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    annotations_of,
    api_path,
    called,
    field,
    is_built_in,
    name_of,
    namespace_of,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.existing_objects import found_objects
from gpu_fabric.live.fields import added_fields, author, changed_fields, rival, words
from gpu_fabric.live.several import some
from gpu_fabric.live.stack import Stack, mark_of
from gpu_fabric.plan.records import PlannedAdoption, PlannedPatch
from gpu_fabric.spec.places import dotted

_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
# Of these others may add to the spec: namespaces get finalizers from the API server.
_SHARED_KINDS = ("Namespace",)


def object_drift(case: Examination) -> Iterator[Finding]:
    """What differs between the objects that the plan applies and those of the cluster."""
    stack, cluster = case.stack, case.cluster
    missing: dict[str, list[str]] = {}
    for entry, live in found_objects(stack, cluster):
        manifest = entry.object.manifest()
        name = called(entry.object.kind, manifest)
        if live is None:
            planned = entry.object
            single = f"{api_path(planned.api_version, planned.plural, planned.metadata.namespace)}/{entry.name}"
            of_one = is_built_in(planned.group()) and planned.kind not in ("DaemonSet", "Deployment", "Namespace")
            if cluster.is_readable(single if of_one else api_path(planned.api_version, planned.plural)):
                missing.setdefault(planned.kind, []).append(name)
            continue
        if mark_of(live) not in (None, stack.plan.stack):
            continue
        is_forced = (entry.object.kind, entry.object.metadata.namespace, entry.name) in stack.kept
        yield from _of_one(stack, cluster, name, manifest, live, is_forced=is_forced)
        if entry.object.kind not in _SHARED_KINDS:
            yield from _added(stack, name, manifest, live)
    for names in missing.values():
        yield finding(
            "DRI001",
            dotted(stack.in_fabric()),
            f"{some(names)} {'was' if len(names) == 1 else 'were'} deleted, and the plan applies "
            f"{'it' if len(names) == 1 else 'them'}",
            seen=Seen(object=names[0], value="missing"),
        )
    yield from _sections(stack, cluster)
    yield from _networks(stack, cluster)


def _of_one(
    stack: Stack, cluster: Cluster, name: str, manifest: Json, live: Json, *, is_forced: bool
) -> Iterator[Finding]:
    """The changed fields of an object; one that `is_forced` is written over what other managers have written."""
    kind = str(manifest["kind"])
    for entry in changed_fields(live, manifest, cluster.as_written):
        other = None if is_forced else rival(live, entry.keys)
        yield finding(
            "DRI002",
            dotted(stack.in_fabric()),
            f"{name}: {words(kind, entry)}",
            "" if other is None else way_past(other, name),
            seen=Seen(object=name, field=entry.path, value=author(live, entry.keys)),
        )


def conflicting_fields(case: Examination) -> Iterator[Finding]:
    """Objects of the stack with a field that another manager has with another value, which Pulumi cannot write."""
    if case.purpose == "destroy":
        return
    for entry, live in found_objects(case.stack, case.cluster):
        kind = entry.object.kind
        if live is None or case.stack.is_foreign(live) or (kind, namespace_of(live), entry.name) in case.stack.kept:
            continue
        found = changed_fields(live, entry.object.manifest(), case.cluster.as_written)
        held = ((one, other) for one in found if (other := rival(live, one.keys)) is not None)
        if (first := next(held, None)) is not None:
            (field_, manager), name = first, called(kind, live)
            yield finding(
                "DOC072",
                "",
                f"{manager} has written {field_.path} of {name}, and the stack writes another value",
                way_past(manager, name),
                seen=Seen(object=name, field=field_.path, value=author(live, field_.keys)),
            )


def way_past(manager: str, name: str) -> str:
    """What to do about a field that another manager has: Pulumi alone would end in a conflict."""
    return (
        f"take {name} out of what {manager} applies, or write its value in the stack file; then, or to take the field "
        "over once: `pulumi refresh`, and `PULUMI_K8S_ENABLE_PATCH_FORCE=true pulumi up` (a plain `pulumi up` ends in "
        f'`Apply failed with 1 conflict: conflict with "{manager}"`)'
    )


def _added(stack: Stack, name: str, manifest: Json, live: Json) -> Iterator[Finding]:
    for manager, fields in added_fields(live, manifest).items():
        yield finding(
            "DRI003",
            dotted(stack.in_fabric()),
            f"{name}: {manager or 'a client without a name'} has added {some(fields)}, which the plan does not state",
            seen=Seen(object=name, field=fields[0], value=f"by {manager or 'a client without a name'}"),
        )


def _sections(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """Settings of the stack in objects that other software owns."""
    records: list[PlannedPatch | PlannedAdoption] = [*stack.plan.records(PlannedPatch)]
    records += stack.plan.records(PlannedAdoption)
    for record in records:
        plural = record.plural if isinstance(record, PlannedAdoption) else f"{record.kind.lower()}s"
        path = f"{api_path(record.api_version, plural)}/{record.name}"
        live = cluster.get(path)
        manifest = {
            "apiVersion": record.api_version,
            "kind": record.kind,
            "metadata": {"name": record.name},
            "spec": dict(record.spec),
        }
        name = called(record.kind, manifest)
        if live is not None:
            yield from _of_one(stack, cluster, name, manifest, live, is_forced=True)
        elif cluster.is_readable(path):
            yield finding(
                "DRI001",
                dotted(stack.in_fabric()),
                f"{name} was deleted, in which the plan has settings",
                "start the operator that creates it, then `pulumi up`",
                seen=Seen(object=name, value="missing"),
            )


def _networks(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """The networks that pods of jobs name: those of the plan itself, and those that operators write for it."""
    path = api_path("k8s.cni.cncf.io/v1", "network-attachment-definitions")
    there = {(namespace_of(item), name_of(item)): item for item in cluster.items(path)}
    if not cluster.is_readable(path):
        return
    own = {(entry.object.metadata.namespace, entry.name) for entry in stack.objects if _is_network(entry.object.kind)}
    wanted = [
        # A NIC that pods share is not a device of the network: pods ask for its resource themselves.
        ((namespace, network.network), None if plan.choices.access == "shared" else network.resource)
        for plan in stack.plan.by_fabric.values()
        for network in plan.workload.networks
        for namespace in _namespaces(plan.workload.namespaces, network.namespace)
        if (namespace, network.network) not in own
    ]
    lacking = [f"{namespace}/{name}" for (namespace, name), _ in wanted if (namespace, name) not in there]
    if lacking:
        yield finding(
            "DRI004",
            dotted(stack.in_fabric()),
            f"{some(lacking)}: pods of jobs name {'it' if len(lacking) == 1 else 'them'}, and the cluster has no such "
            "network",
            seen=Seen(object=f"NetworkAttachmentDefinition {lacking[0]}", value="missing"),
        )
    for place, resource in wanted:
        found = annotations_of(there.get(place, {})).get(_RESOURCE)
        if place in there and resource and found != resource:
            yield finding(
                "DRI004",
                dotted(stack.in_fabric()),
                f"network {'/'.join(place)} gives pods a device of {found or 'no resource'}, and the plan's is "
                f"{resource}",
                seen=Seen(
                    object=called("NetworkAttachmentDefinition", there[place]),
                    field=f"metadata.annotations[{_RESOURCE}]",
                    value=str(found or "missing"),
                ),
            )


def _is_network(kind: str) -> bool:
    return kind == "NetworkAttachmentDefinition"


def _namespaces(jobs: Iterable[str], own: str | None) -> tuple[str, ...]:
    return (own,) if own else tuple(jobs)


def is_up(stack: Stack, cluster: Cluster) -> bool:
    """Whether the cluster has any of the plan's objects, or none because they may not be read."""
    if bool(cluster.refused) or not stack.objects:
        return True
    return any(
        live is not None and entry.object.kind != "Namespace" and not field(live, "metadata", "deletionTimestamp")
        for entry, live in found_objects(stack, cluster)
    )
