"""The nodes of the pools: how many, which, and whether they are as the stack file says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.base.api_objects import condition
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.amounts import amount
from gpu_fabric.live.cluster import Cluster, Json, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import Pool, pools_of, workers
from gpu_fabric.live.several import of_some_nodes, some, verb
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL, type_labels
from gpu_fabric.spec.places import dotted

_ALIKE = {
    "architecture": "architectures",
    "kernelVersion": "kernels",
    "osImage": "systems",
    "containerRuntimeVersion": "container runtimes",
}
_PARTITIONS = "nvidia.com/mig.config"
# Taints that Kubernetes and cloud controllers set for a node's state, and remove by themselves.
_OF_STATE = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def node_differences(case: Examination) -> Iterator[Finding]:
    """What differs between the pools and the cluster's nodes."""
    stack, cluster = case.stack, case.cluster
    if not cluster.is_readable("/api/v1/nodes"):
        return
    pools = pools_of(stack, cluster)
    yield from _too_few_at_all(pools, cluster)
    for pool in pools:
        if pool.spec.node_names:
            yield from _named(pool)
        elif pool.certain:
            yield from _count(pool)
        yield from _state(pool)
        if pool.certain:
            yield from _machines(stack, pool)
            yield from _taints(pool)
            yield from _alike(pool)


def _too_few_at_all(pools: tuple[Pool, ...], cluster: Cluster) -> Iterator[Finding]:
    """Where nothing tells the nodes of a pool from others, the cluster must still have that many."""
    unknown = [pool for pool in pools if not pool.certain and not _scales(pool)]
    known = {name_of(node) for pool in pools if pool.certain for node in pool.nodes}
    left = [node for node in workers(cluster) if name_of(node) not in known]
    wanted = sum(pool.spec.nodes for pool in unknown)
    if unknown and len(left) < wanted:
        yield finding(
            "PRE050",
            dotted(unknown[0].at("nodes")),
            f"the stack file counts {wanted} GPU nodes, and the cluster has {len(left)} nodes that may be theirs",
            "add the nodes before, or write their number",
            seen=Seen(object="Nodes", field="metadata.name", value=str(len(left))),
        )


def _scales(pool: Pool) -> bool:
    return getattr(pool.spec, "auto_scale", None) is not None


def _named(pool: Pool) -> Iterator[Finding]:
    there = {name_of(node): node for node in pool.nodes}
    missing = [name for name in pool.spec.named_nodes if name not in there]
    if missing:
        yield finding(
            "PRE052",
            dotted(pool.at("nodeNames")),
            f"pool {pool.spec.name}: the cluster has no node {some(missing)}",
            seen=Seen(object=f"Node {missing[0]}", value="missing"),
        )
    for key, value in sorted(pool.spec.labels.items()):
        without = [name for name, node in there.items() if labels_of(node).get(key) != value]
        if without:
            yield of_some_nodes(
                finding(
                    "PRE053",
                    dotted(pool.at("labels")),
                    f"pool {pool.spec.name}: {some(without)} {verb(without, 'lacks', 'lack')} the label "
                    f"{key}={value}, by which pods select the pool's nodes",
                    f"kubectl label node {' '.join(without[:4])} {key}={value} --overwrite",
                    seen=_seen(there[without[0]], f"metadata.labels[{key}]", labels_of(there[without[0]]).get(key)),
                ),
                len(without),
                len(there),
            )


def _count(pool: Pool) -> Iterator[Finding]:
    if _scales(pool):
        return
    found, wanted = len(pool.nodes), pool.spec.nodes
    names = sorted(map(name_of, pool.nodes))
    if found < wanted:
        yield finding(
            "PRE050",
            dotted(pool.at("nodes")),
            f"pool {pool.spec.name} counts {wanted} nodes, and the cluster has {found} with its labels and machine "
            "type",
            "add nodes, label them as the pool says, or write their number",
            seen=Seen(
                object="Nodes", field="metadata.labels", value=f"{found} with the labels of pool {pool.spec.name}"
            ),
        )
    elif found > wanted:
        yield finding(
            "PRE051",
            dotted(pool.at("nodes")),
            f"pool {pool.spec.name} counts {wanted} nodes, and the cluster has {found}: addresses are planned for "
            f"{wanted}",
            f"write nodes: {found}",
            seen=Seen(
                object=f"Node {names[-1]}", field="metadata.labels", value=f"{found} nodes of pool {pool.spec.name}"
            ),
        )


def _state(pool: Pool) -> Iterator[Finding]:
    waiting = [node for node in pool.nodes if _ready(node) not in ("True", None)]
    if waiting:
        yield finding(
            "PRE058",
            dotted(pool.at("nodes")),
            f"pool {pool.spec.name}: {_names(waiting)} {verb(waiting, 'is', 'are')} not ready, and `up` waits for "
            "pods on every node",
            seen=_seen(waiting[0], "status.conditions[Ready]", _ready(waiting[0])),
        )
    cordoned = [node for node in pool.nodes if field(node, "spec", "unschedulable") is True]
    if cordoned:
        yield finding(
            "PRE059",
            dotted(pool.at("nodes")),
            f"pool {pool.spec.name}: {_names(cordoned)} {verb(cordoned, 'takes', 'take')} no pods",
            f"kubectl uncordon {' '.join(sorted(map(name_of, cordoned))[:4])}",
            seen=_seen(cordoned[0], "spec.unschedulable", "true"),
        )


def _ready(node: Json) -> str | None:
    return condition(node, "Ready").get("status")


def _machines(stack: Stack, pool: Pool) -> Iterator[Finding]:
    resource, count = pool.shape.gpus.resource, pool.shape.gpus.count
    fewer = [node for node in pool.nodes if 0 < allocatable(node, resource) < count]
    if fewer:
        yield of_some_nodes(
            finding(
                "PRE055",
                dotted(pool.at("shape")),
                f"pool {pool.spec.name}: {_names(fewer)} {verb(fewer, 'has', 'have')} "
                f"{allocatable(fewer[0], resource)} of {resource}, and {pool.shape.name} has {count}",
                seen=_seen(fewer[0], f"status.allocatable[{resource}]", allocatable(fewer[0], resource)),
            ),
            len(fewer),
            len(pool.nodes),
        )
    more = [node for node in pool.nodes if allocatable(node, resource) > count and not _is_partitioned(node)]
    # A configuration of the stack's own plug-in is the user's choice, of which the plan warns (GPU007).
    if more and stack.value("gpu-operator", "devicePlugin", "config") is None:
        yield of_some_nodes(
            finding(
                "PRE066",
                dotted(pool.at("shape")),
                f"pool {pool.spec.name}: {_names(more)} {verb(more, 'offers', 'offer')} "
                f"{allocatable(more[0], resource)} of {resource}, and {pool.shape.name} has {count}: GPUs are shared "
                f"by several pods, and one that takes {count} may get fewer",
                seen=_seen(more[0], f"status.allocatable[{resource}]", allocatable(more[0], resource)),
            ),
            len(more),
            len(pool.nodes),
        )
    other = [node for node in pool.nodes if _type(node) and _is_another(pool, _type(node))]
    if other:
        yield finding(
            "PRE057",
            dotted(pool.at("shape")),
            f"pool {pool.spec.name}: {_names(other)} {verb(other, 'is', 'are')} of machine type {_type(other[0])}, "
            f"and the stack file says {pool.shape.name}",
            seen=_seen(other[0], f"metadata.labels[{INSTANCE_TYPE_LABEL}]", _type(other[0])),
        )


def _is_partitioned(node: Json) -> bool:
    """Whether the GPU Operator partitions a node's GPUs, whose parts it may offer as GPUs."""
    return labels_of(node).get(_PARTITIONS, "all-disabled") != "all-disabled"


def _is_another(pool: Pool, machine: str) -> bool:
    """Whether a machine type is one of the same cloud's, and not the pool's; one's own label may say anything."""
    return INSTANCE_TYPE_LABEL in type_labels(pool.shape) and machine != pool.shape.name


def _type(node: Json) -> str:
    return labels_of(node).get(INSTANCE_TYPE_LABEL, "")


def allocatable(node: Json, resource: str) -> int:
    """How many of a resource a node offers; the API server writes 1000 as 1k."""
    return int(amount((field(node, "status", "allocatable") or {}).get(resource)) or 0)


def _taints(pool: Pool) -> Iterator[Finding]:
    known = (*pool.spec.taints_with(pool.shape.gpus.vendor), *pool.startup_taints)
    tolerated = {(taint.key, taint.effect) for taint in known}
    surprising: dict[str, list[Json]] = {}
    for node in pool.nodes:
        for taint in field(node, "spec", "taints") or ():
            key, effect = taint.get("key", ""), taint.get("effect")
            if effect == "PreferNoSchedule" or key.startswith(_OF_STATE) or (key, effect) in tolerated:
                continue
            surprising.setdefault(f"{key}={taint.get('value', '')}:{effect}", []).append(node)
    for text, nodes in sorted(surprising.items()):
        yield of_some_nodes(
            finding(
                "PRE056",
                dotted(pool.at("taints")),
                f"pool {pool.spec.name}: {_names(nodes)} {verb(nodes, 'has', 'have')} the taint {text}, which nothing "
                "of the stack tolerates",
                seen=_seen(nodes[0], "spec.taints", text),
            ),
            len(nodes),
            len(pool.nodes),
        )
    for taint in pool.spec.taints or ():
        missing = [node for node in pool.nodes if not _has_taint(node, taint.key, taint.effect)]
        if missing:
            yield finding(
                "PRE054",
                dotted(pool.at("taints")),
                f"pool {pool.spec.name}: {_names(missing)} {verb(missing, 'lacks', 'lack')} the taint "
                f"{taint.key}:{taint.effect} of the stack file, so that pods of others may take its GPUs",
                f"kubectl taint node {name_of(missing[0])} {taint.key}={taint.value}:{taint.effect}",
                seen=_seen(missing[0], "spec.taints", f"no {taint.key}"),
            )


def _has_taint(node: Json, key: str, effect: str) -> bool:
    return any((row.get("key"), row.get("effect")) == (key, effect) for row in field(node, "spec", "taints") or ())


def _alike(pool: Pool) -> Iterator[Finding]:
    for key, words in _ALIKE.items():
        values: dict[str, list[Json]] = {}
        for node in pool.nodes:
            values.setdefault(str(field(node, "status", "nodeInfo", key) or ""), []).append(node)
        if len(values) > 1:
            rare = min(values, key=lambda value: (len(values[value]), value))
            yield finding(
                "PRE061",
                dotted(pool.at("nodes")),
                f"pool {pool.spec.name} has nodes of {len(values)} {words}: {_names(values[rare])} {rare}, others "
                f"{', '.join(sorted(value for value in values if value != rare))}",
                seen=_seen(values[rare][0], f"status.nodeInfo.{key}", rare),
            )
            return


def _seen(node: Json, name: str, value: object) -> Seen:
    return Seen(object=f"Node {name_of(node)}", field=name, value="missing" if value is None else str(value))


def _names(nodes: Iterable[Json]) -> str:
    return some(sorted(map(name_of, nodes)))
