"""Objects that are there: with the stack's names, besides the one of which there may be one, on the same devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

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
    release_of,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.several import some, verb
from gpu_fabric.live.stack import POLICY, Stack, mark_of
from gpu_fabric.plan.operators.sharing import STACK_ANNOTATION
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.places import Location, dotted

_FABRIC: Location = ("fabric",)
_JOBS: Location = ("fabric", "namespaces")
_OTHER_NAMES = (
    "give this stack's objects other names (fabric.prefix, other namespaces), or change the stack that has them; a "
    "NicClusterPolicy that exists is used with policy: adopt or theirs, a namespace with create: false"
)
_NETWORKS = partial(api_path, "k8s.cni.cncf.io/v1", "network-attachment-definitions")
_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
_POLICIES = {
    POLICY: ("network-operator", api_path("mellanox.com/v1alpha1", "nicclusterpolicies")),
    "ClusterPolicy": ("gpu-operator", api_path("nvidia.com/v1", "clusterpolicies")),
}


def object_differences(case: Examination) -> Iterator[Finding]:
    """Every object of others that does the same as one of the stack's."""
    stack, cluster = case.stack, case.cluster
    yield from _policies(stack, cluster)
    yield from _networks(stack, cluster)
    yield from _node_policies(stack, cluster)


class _Group(NamedTuple):
    """Objects that are reported together: of one kind and owner, and about one place of the stack file."""

    kind: str
    mark: str | None
    is_unknown: bool
    place: Location


def objects_of_others(case: Examination) -> Iterator[Finding]:
    """Objects with names of the stack that are not the stack's: the mark of another, or written by something else."""
    stack, cluster = case.stack, case.cluster
    found: dict[_Group, list[Seen]] = {}
    for kind, item in _not_own(stack, cluster):
        # What has been written again since `up` is compared field by field.
        if case.phase == "before" or mark_of(item) is not None:
            group = _Group(kind, mark_of(item), stack.owns(item) is None, _place(stack, kind, name_of(item)))
            found.setdefault(group, []).append(_owner(kind, item))
    for group, seen in found.items():
        path, names = dotted(group.place), some([entry.object for entry in seen])
        shares = group.mark is not None or stack.sharing is not None
        if group.is_unknown:
            what = f"{verb(seen, 'was', 'were')} written by a Pulumi program, and {verb(seen, 'has', 'have')} no mark"
            yield finding("PRE036", path, f"{names} {what}", _OTHER_NAMES, seen=seen)
        elif group.kind == "Namespace":
            text = _whose(stack, group, seen, "`destroy` would delete it with all that is in it")
            without = "write its name without `create: true`" if group.place == _JOBS else ""
            yield finding("PRE040", path, f"{names} {text}", _OTHER_NAMES if shares else without, seen=seen)
        else:
            text = _whose(stack, group, seen, "`up` would overwrite, and `destroy` delete")
            yield finding("PRE030", path, f"{names} {text}", _OTHER_NAMES if shares else "", seen=seen)


def _place(stack: Stack, kind: str, name: str) -> Location:
    of_software = _JOBS if name in stack.jobs_namespaces else ("software",)
    return of_software if kind == "Namespace" else _FABRIC


def _owner(kind: str, item: Json) -> Seen:
    """What shows whose an object is."""
    if (mark := mark_of(item)) is not None:
        return Seen(object=called(kind, item), field=f"metadata.annotations[{STACK_ANNOTATION}]", value=mark)
    managers = sorted({str(row.get("manager")) for row in field(item, "metadata", "managedFields") or ()})
    shown = ", ".join(managers) or "none"
    return Seen(object=called(kind, item), field="metadata.managedFields[].manager", value=shown)


def _whose(stack: Stack, group: _Group, seen: list[Seen], loses: str) -> str:
    if group.mark is not None:
        return f"{verb(seen, 'is', 'are')} of stack {group.mark}"
    if stack.sharing is None:
        return f"{verb(seen, 'exists', 'exist')}, and not by this stack: {loses}"
    return f"{verb(seen, 'exists', 'exist')}, and no stack has marked {verb(seen, 'it', 'them')} as its own"


def _not_own(stack: Stack, cluster: Cluster) -> Iterator[tuple[str, Json]]:
    """Kind and object of what has a name of the stack, and is not known to be the stack's."""
    for entry, item in found_objects(stack, cluster):
        kind = entry.object.kind
        if item is None or stack.owns(item):
            continue
        # One policy is judged whatever its name is, and a release explains its namespace.
        explained = kind == POLICY or is_going(item) or (kind == "Namespace" and _has_a_release(stack, cluster, item))
        if mark_of(item) is None and stack.sharing is None and explained:
            continue
        yield kind, item


def _has_a_release(stack: Stack, cluster: Cluster, namespace: Json) -> bool:
    """Whether a release of the stack's own names is in a namespace: that is reported, and explains the namespace."""
    there = (item for _, item in cluster.workloads if (release_of(item) or ("", ""))[1] == name_of(namespace))
    return any(map(stack.has_released, there))


def is_going(item: Json) -> bool:
    """Whether an object is being deleted."""
    return field(item, "status", "phase") == "Terminating" or bool(field(item, "metadata", "deletionTimestamp"))


def found_objects(stack: Stack, cluster: Cluster) -> Iterator[tuple[PlannedObject, Json | None]]:
    """Every planned object with that of the cluster, by kind, namespace and name; of kinds with many by one list."""
    listed: dict[tuple[str, str], dict[tuple[str | None, str], Json]] = {}
    for entry in stack.objects:
        planned, kind = entry.object, (entry.object.api_version, entry.object.kind)
        namespace = planned.metadata.namespace
        if planned.kind == "Namespace":
            yield entry, cluster.namespaces.get(entry.name)
            continue
        if is_built_in(planned.group()) and planned.kind not in ("DaemonSet", "Deployment"):
            yield entry, cluster.get(f"{api_path(planned.api_version, planned.plural, namespace)}/{entry.name}")
            continue
        if kind not in listed:
            workloads = [item for name, item in cluster.workloads if name == planned.kind]
            items = workloads or cluster.items(api_path(planned.api_version, planned.plural))
            listed[kind] = {(namespace_of(item), name_of(item)): item for item in items}
        yield entry, listed[kind].get((namespace, entry.name))


def _policies(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    for kind, (chart, path) in _POLICIES.items():
        if chart not in stack.releases:
            continue
        for item in cluster.items(path):
            is_named = mark_of(item) is not None and name_of(item) in {entry.name for entry in stack.objects}
            if stack.is_foreign(item) and not stack.installed(cluster, item) and not is_named:
                yield finding(
                    "PRE032",
                    dotted(("fabric", "manager") if kind == POLICY else ("software", "gpuOperator", "install")),
                    f"{called(kind, item)} exists, and not by this stack: the operator follows one such policy alone",
                    f"delete it before, with what it deployed: `kubectl delete {kind.lower()} {name_of(item)}`",
                    seen=Seen(
                        object=called(kind, item), field="spec", value=", ".join(sorted(field(item, "spec") or {}))
                    ),
                )


def _networks(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """Networks of others, by the names of those that an operator makes for the stack, and with the stack's devices."""
    if not stack.networks:
        return
    planned = {
        (entry.object.metadata.namespace, entry.name)
        for entry in stack.objects
        if entry.object.kind == "NetworkAttachmentDefinition"
    }
    makers = {entry.object.plural: entry for entry in stack.objects if _makes_networks(entry.object.kind)}
    made = any(stack.owns(item) for entry in makers.values() for item in _all(cluster, entry))
    takers = []
    for item in cluster.items(_NETWORKS()):
        if not stack.is_foreign(item) or (namespace_of(item), name_of(item)) in planned:
            continue
        called_so = (namespace_of(item), name_of(item)) in stack.networks
        if called_so and makers and not made:
            name = called("NetworkAttachmentDefinition", item)
            yield finding(
                "PRE033",
                dotted(_FABRIC),
                f"{name} exists, and an operator of the stack would write a network of this name",
                seen=Seen(object=name, field="metadata.name", value=name_of(item)),
            )
        elif not called_so and stack.sharing is None and annotations_of(item).get(_RESOURCE) in stack.resources:
            takers.append(item)
    if takers:
        shown = [called("NetworkAttachmentDefinition", item) for item in takers]
        resource = annotations_of(takers[0])[_RESOURCE]
        yield finding(
            "PRE034",
            dotted(_FABRIC),
            f"pods of {some(shown)} take devices of the stack's resource {resource}",
            seen=Seen(object=shown[0], field=f"metadata.annotations[{_RESOURCE}]", value=resource),
        )


def _makes_networks(kind: str) -> bool:
    return kind in ("SriovNetwork", "SriovIBNetwork", "SpiderMultusConfig", "SpectrumXRailPoolConfig")


def _all(cluster: Cluster, entry: PlannedObject) -> tuple[Json, ...]:
    return cluster.items(api_path(entry.object.api_version, entry.object.plural))


def _node_policies(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """Node policies of others that configure the rails' NICs, or offer them by the stack's resource."""
    rails = [
        rail
        for plan in stack.plan.by_fabric.values()
        for rail in ([rail for group in plan.node_groups for rail in group.rails] or plan.rails)
    ]
    nics = {name for rail in rails for name in (rail.pci, rail.interface) if name}
    planned = {(policy.metadata.namespace, policy.metadata.name) for policy in stack.node_policies}
    for item in cluster.items(api_path("sriovnetwork.openshift.io/v1", "sriovnetworknodepolicies")):
        if not stack.is_foreign(item) or (namespace_of(item), name_of(item)) in planned or name_of(item) == "default":
            continue
        selector = field(item, "spec", "nicSelector") or {}
        # A name may end with a range of virtual functions: ens1f0#0-3.
        chosen = [
            *(selector.get("rootDevices") or ()),
            *(str(n).partition("#")[0] for n in selector.get("pfNames") or ()),
        ]
        taken = sorted(nics.intersection(chosen))
        if taken:
            name = called("SriovNetworkNodePolicy", item)
            yield finding(
                "PRE035",
                dotted(("fabric", "virtualFunctions")),
                f"{name} configures NICs of the stack's rails: {some(taken)}",
                seen=Seen(object=name, field="spec.nicSelector", value=json.dumps(selector, sort_keys=True)),
            )
