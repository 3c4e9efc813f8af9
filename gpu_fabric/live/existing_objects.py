"""Objects that are there: with the stack's names, beside the one of which there may be one, on the same devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    annotations_of,
    called,
    collection,
    field,
    is_built_in,
    is_own,
    name_of,
    namespace_of,
    release_of,
)
from gpu_fabric.live.difference import Difference, Seen, difference, some
from gpu_fabric.live.stack import POLICY, Stack
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.places import Location

_FABRIC: Location = ("fabric",)
_NETWORKS = partial(collection, "k8s.cni.cncf.io/v1", "network-attachment-definitions")
_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
_POLICIES = {
    POLICY: ("network-operator", collection("mellanox.com/v1alpha1", "nicclusterpolicies")),
    "ClusterPolicy": ("gpu-operator", collection("nvidia.com/v1", "clusterpolicies")),
}


def object_differences(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Every object that the stack would overwrite, or that does the same beside it."""
    yield from _of_the_same_name(stack, cluster)
    yield from _policies(stack, cluster)
    yield from _networks(stack, cluster)
    yield from _node_policies(stack, cluster)


def _of_the_same_name(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    foreign: dict[str, list[Json]] = {}
    going: dict[str, list[Json]] = {}
    for entry, found in found_objects(stack, cluster):
        kind = entry.object.kind
        if found is None or kind in ("Namespace", POLICY):
            continue
        if field(found, "metadata", "deletionTimestamp"):
            going.setdefault(kind, []).append(found)
        elif not is_own(found):
            foreign.setdefault(kind, []).append(found)
    for kind, items in foreign.items():
        names = [called(kind, item) for item in items]
        managers = sorted({str(row.get("manager")) for row in field(items[0], "metadata", "managedFields") or ()})
        yield difference(
            "PRE030",
            Seen(object=names[0], field="metadata.managedFields[].manager", value=", ".join(managers) or "none"),
            _FABRIC,
            f"{some(names)} exist{'s' if len(names) == 1 else ''}, and not by this stack: `up` would overwrite, and "
            "`destroy` delete",
            "rename or delete what is there, or give the stack's rails other names (fabric.rails[].network)",
        )
    for kind, items in going.items():
        names = [called(kind, item) for item in items]
        held = field(items[0], "metadata", "finalizers") or ()
        yield difference(
            "PRE031",
            Seen(object=names[0], field="metadata.finalizers", value=", ".join(held) or "none"),
            _FABRIC,
            f"{some(names)} {'is' if len(names) == 1 else 'are'} being deleted, and the stack applies the same name",
            "wait until the deletion is over; where a finalizer holds it, start the operator that removes it",
        )


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
            yield entry, cluster.get(f"{collection(planned.api_version, planned.plural, namespace)}/{entry.name}")
            continue
        if kind not in listed:
            workloads = [item for name, item in cluster.workloads if name == planned.kind]
            items = workloads or cluster.items(collection(planned.api_version, planned.plural))
            listed[kind] = {(namespace_of(item), name_of(item)): item for item in items}
        yield entry, listed[kind].get((namespace, entry.name))


def _policies(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    for kind, (chart, path) in _POLICIES.items():
        if chart not in stack.releases:
            continue
        for item in cluster.items(path):
            release = release_of(item)
            own = is_own(item) or (release == (chart, stack.releases[chart].namespace) and cluster.keeps(release[1]))
            if not own:
                yield difference(
                    "PRE032",
                    Seen(object=called(kind, item), field="spec", value=", ".join(sorted(field(item, "spec") or {}))),
                    ("fabric", "manager") if kind == POLICY else ("software", "gpuOperator", "install"),
                    f"{called(kind, item)} exists, and not by this stack: the operator follows one such policy alone",
                    f"delete it before, with what it deployed: `kubectl delete {kind.lower()} {name_of(item)}`",
                )


def _networks(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Networks of others, by the names of those that an operator makes for the stack, and with the stack's devices."""
    if not stack.networks:
        return
    planned = {
        (entry.object.metadata.namespace, entry.name)
        for entry in stack.objects
        if entry.object.kind == "NetworkAttachmentDefinition"
    }
    makers = {entry.object.plural: entry for entry in stack.objects if _makes_networks(entry.object.kind)}
    made = any(is_own(item) for entry in makers.values() for item in _all(cluster, entry))
    takers = []
    for item in cluster.items(_NETWORKS()):
        if is_own(item) or (namespace_of(item), name_of(item)) in planned:
            continue
        called_so = (namespace_of(item), name_of(item)) in stack.networks
        if called_so and makers and not made:
            name = called("NetworkAttachmentDefinition", item)
            yield difference(
                "PRE033",
                Seen(object=name, field="metadata.name", value=name_of(item)),
                _FABRIC,
                f"{name} exists, and an operator of the stack would write a network of this name",
                "rename or delete it, or give the stack's rails other names (fabric.rails[].network)",
            )
        elif not called_so and stack.sharing is None and annotations_of(item).get(_RESOURCE) in stack.resources:
            takers.append(item)
    if takers:
        shown = [called("NetworkAttachmentDefinition", item) for item in takers]
        resource = annotations_of(takers[0])[_RESOURCE]
        yield difference(
            "PRE034",
            Seen(object=shown[0], field=f"metadata.annotations[{_RESOURCE}]", value=resource),
            _FABRIC,
            f"pods of {some(shown)} take devices of the stack's resource {resource}",
            "delete these networks, or give them a resource of their own",
        )


def _makes_networks(kind: str) -> bool:
    return kind in ("SriovNetwork", "SriovIBNetwork", "SpiderMultusConfig")


def _all(cluster: Cluster, entry: PlannedObject) -> tuple[Json, ...]:
    return cluster.items(collection(entry.object.api_version, entry.object.plural))


def _node_policies(stack: Stack, cluster: Cluster) -> Iterator[Difference]:
    """Node policies of others that configure the rails' NICs, or offer them by the stack's resource."""
    rails = [
        rail
        for plan in stack.plan.by_fabric.values()
        for rail in ([rail for group in plan.node_groups for rail in group.rails] or plan.rails)
    ]
    nics = {name for rail in rails for name in (rail.pci, rail.interface) if name}
    planned = {(policy.metadata.namespace, policy.metadata.name) for policy in stack.node_policies}
    for item in cluster.items(collection("sriovnetwork.openshift.io/v1", "sriovnetworknodepolicies")):
        if is_own(item) or (namespace_of(item), name_of(item)) in planned or name_of(item) == "default":
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
            yield difference(
                "PRE035",
                Seen(object=name, field="spec.nicSelector", value=json.dumps(selector, sort_keys=True)),
                ("fabric", "virtualFunctions"),
                f"{name} configures NICs of the stack's rails: {some(taken)}",
                "delete it, or take these NICs out of its nicSelector",
            )
