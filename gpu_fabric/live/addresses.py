"""Addresses in use against the plan: what is held for nodes and pods that are gone, and what nodes did not get."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from ipaddress import ip_address, ip_network

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    annotations_of,
    api_path,
    called,
    field,
    labels_of,
    name_of,
    namespace_of,
    selects,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pools import has_gpus, pools_of, workers
from gpu_fabric.live.several import some, verb
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.addresses import AddressPool
from gpu_fabric.spec.places import dotted

_NV_IPAM = "nv-ipam.nvidia.com/v1alpha1"
_WHEREABOUTS = "whereabouts.cni.cncf.io/v1alpha1"
_SPIDERPOOL = "spiderpool.spidernet.io/v2beta1"
_STATES = api_path("sriovnetwork.openshift.io/v1", "sriovnetworknodestates")
_KEPT_UNTIL = "sriovnetwork.openshift.io/keep-state-until"
# Spiderpool keeps the addresses of these while their owner exists, whether their pod does or not.
_LASTING = ("StatefulSet", "VirtualMachineInstance")
# The operator looks at states every five minutes (pkg/consts of v1.6.0, ResyncPeriod) and at each change of nodes.
STATE_GRACE_S = 600
# From this share of a pool's addresses on it counts as nearly full.
NEARLY_FULL = 0.9


class Pods:
    """The pods of the cluster, which are many: they are read where something holds addresses for pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @cached_property
    def names(self) -> frozenset[str]:
        """`namespace/name` of each."""
        return frozenset(f"{namespace_of(pod)}/{name_of(pod)}" for pod in self._cluster.items("/api/v1/pods"))

    def gone(self, name: str) -> bool:
        """Whether a pod is known not to exist."""
        return name not in self.names and self._cluster.is_readable("/api/v1/pods")


def address_drift(case: Examination) -> Iterator[Finding]:
    """What is wrong with the addresses that the IPAMs and the hosts hold."""
    stack, cluster = case.stack, case.cluster
    if not cluster.is_readable("/api/v1/nodes"):
        return
    pods = Pods(cluster)
    for fabric in stack.by_fabric:
        pools = {pool.name: pool for pool in fabric.plan.addresses.pools}
        match fabric.plan.addresses.ipam:
            case "nv-ipam":
                yield from _nv_ipam(fabric, cluster, pools)
            case "whereabouts":
                yield from _whereabouts(fabric, cluster, pools, pods)
            case "spiderpool":
                yield from _spiderpool(fabric, cluster, pods)
    yield from _unnamed(stack, cluster)


def _nv_ipam(stack: Stack, cluster: Cluster, pools: Mapping[str, AddressPool]) -> Iterator[Finding]:
    """Shares of nodes: which address of its share a pod has, nv-ipam keeps on the node alone."""
    nodes = {name_of(node): node for node in cluster.nodes}
    stale: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    for kind, plural in (("IPPool", "ippools"), ("CIDRPool", "cidrpools")):
        for item in cluster.items(api_path(_NV_IPAM, plural)):
            if (pool := pools.get(name_of(item))) is None:
                continue
            name, allocations = called(kind, item), field(item, "status", "allocations") or ()
            for row in allocations:
                if row.get("nodeName") not in nodes:
                    stale.setdefault(str(row.get("nodeName")), []).append(name)
                else:
                    yield from _share(stack, name, pool, row, _fixed(item))
            served = {row.get("nodeName") for row in allocations}
            for node in nodes.values():
                if name_of(node) not in served and _is_selected(field(item, "spec", "nodeSelector"), node):
                    without.setdefault(name, []).append(name_of(node))
    for node_name, names in stale.items():
        yield finding(
            "DRI020",
            dotted(stack.in_fabric("addressing")),
            f"{some(names)} {verb(names, 'has', 'have')} a share for node {node_name}, which the cluster lacks",
            seen=Seen(object=names[0], field="status.allocations[].nodeName", value=node_name),
        )
    if without:
        name, left = next(iter(without.items()))
        yield finding(
            "DRI021",
            dotted(stack.in_fabric("addressing")),
            f"{some(list(without))}: {some(sorted(left))} {verb(left, 'has', 'have')} no share, and pods there get no "
            "address",
            seen=Seen(object=name, field="status.allocations[].nodeName", value=f"none for {left[0]}"),
        )


def _share(
    stack: Stack, name: str, pool: AddressPool, row: Mapping[str, str], fixed: Mapping[str, str]
) -> Iterator[Finding]:
    """Whether a node's share is one of the pool, and the one that the plan fixes for the node."""
    node, prefix = row["nodeName"], row.get("prefix")
    seen = Seen(object=name, field=f"status.allocations[{node}]", value=prefix or f"{row.get('startIP')}")
    wanted = fixed.get(node)
    if prefix is not None and wanted is not None and prefix != wanted:
        yield finding(
            "DRI022",
            dotted(stack.in_fabric("addressing")),
            f"node {node} has the prefix {prefix} of {name}, and the plan gives it {wanted}",
            seen=seen,
        )
    elif prefix is not None and fixed and wanted is None:
        yield finding(
            "DRI022",
            dotted(stack.in_fabric("addressing")),
            f"node {node} has the prefix {prefix} of {name}, and the plan names no prefix for it",
            "write the node's name in the place of the node that it replaces (cluster.pools[].nodeNames), then `up`",
            seen=seen,
        )
    elif not ip_network(prefix or f"{row.get('startIP')}").subnet_of(ip_network(pool.space)):  # type: ignore[arg-type]
        yield finding(
            "DRI022",
            dotted(stack.in_fabric("addressing")),
            f"node {node} has {seen.value} of {name}, which is outside of the pool's {pool.space}",
            seen=seen,
        )


def _fixed(item: Json) -> dict[str, str]:
    rows = field(item, "spec", "staticAllocations") or ()
    return {row["nodeName"]: row["prefix"] for row in rows if row.get("nodeName")}


def _is_selected(selector: Json | None, node: Json) -> bool:
    """Whether one term of a node selector matches; without a selector every node is meant."""
    terms = field(selector, "nodeSelectorTerms")
    return terms is None or any(selects(term, labels_of(node)) for term in terms)


def _whereabouts(stack: Stack, cluster: Cluster, pools: Mapping[str, AddressPool], pods: Pods) -> Iterator[Finding]:
    by_range = {str(pool.subnet): pool for pool in pools.values()}
    held = dict[str, list[str]]()
    first: Seen | None = None
    for item in cluster.items(api_path(_WHEREABOUTS, "ippools")):
        pool = by_range.get(str(field(item, "spec", "range")))
        if pool is None:
            continue
        rows = field(item, "spec", "allocations") or {}
        for place, row in rows.items():
            pod = str(row.get("podref"))
            if pods.gone(pod):
                seen = Seen(object=called("IPPool", item), field=f"spec.allocations[{place}].podref", value=pod)
                first = first or seen
                held.setdefault(pod, []).append(str(ip_network(pool.subnet)[int(place)]))
        yield from _full(stack, called("IPPool", item), "spec.allocations", len(rows), pool.available.count)
    for item in cluster.items(api_path(_WHEREABOUTS, "overlappingrangeipreservations")):
        # Colons of an address have no place in a name.
        pod, address = str(field(item, "spec", "podref")), name_of(item).replace("-", ":")
        if any(_is_in(address, pool) for pool in pools.values()) and pods.gone(pod):
            seen = Seen(object=called("OverlappingRangeIPReservation", item), field="spec.podref", value=pod)
            first = first or seen
            held.setdefault(pod, []).append(address)
    if first is not None:
        yield finding("DRI023", dotted(stack.in_fabric("addressing")), _leak(held), seen=first)


def _is_in(text: str, pool: AddressPool) -> bool:
    try:
        return ip_address(text) in ip_network(pool.subnet)
    except ValueError:
        return False


def _spiderpool(stack: Stack, cluster: Cluster, pods: Pods) -> Iterator[Finding]:
    planned = {entry.name for entry in stack.objects if entry.object.kind == "SpiderIPPool"}
    endpoints = {
        f"{namespace_of(item)}/{name_of(item)}": item
        for item in cluster.items(api_path(_SPIDERPOOL, "spiderendpoints"))
    }
    lasting = {name for name, item in endpoints.items() if field(item, "status", "ownerControllerType") in _LASTING}
    held = dict[str, list[str]]()
    first: Seen | None = None
    for item in cluster.items(api_path(_SPIDERPOOL, "spiderippools")):
        if name_of(item) not in planned:
            continue
        name, status = called("SpiderIPPool", item), field(item, "status") or {}
        for address, row in _allocated(status).items():
            pod = str(row.get("pod"))
            if pod not in lasting and pods.gone(pod):
                first = first or Seen(object=name, field=f"status.allocatedIPs[{address}].pod", value=pod)
                held.setdefault(pod, []).append(address)
        used, total = int(status.get("allocatedIPCount") or 0), int(status.get("totalIPCount") or 0)
        yield from _full(stack, name, "status.allocatedIPCount", used, total)
    for pod, item in endpoints.items():
        if pod not in lasting and pod not in held and pods.gone(pod):
            first = first or Seen(object=called("SpiderEndpoint", item), field="metadata.name", value=pod)
            held.setdefault(pod, [])
    if first is not None:
        yield finding("DRI024", dotted(stack.in_fabric("addressing")), _leak(held), seen=first)


def _allocated(status: Mapping[str, object]) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(str(status.get("allocatedIPs") or "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _leak(held: Mapping[str, list[str]]) -> str:
    addresses = list(dict.fromkeys(address for rows in held.values() for address in rows))
    what = f"{some(addresses)} {verb(addresses, 'is', 'are')} held" if addresses else "a record is held"
    return f"{what} for pods that do not exist: {some(list(held))}"


def _full(stack: Stack, name: str, where: str, used: int, total: int) -> Iterator[Finding]:
    if total and used >= NEARLY_FULL * total:
        yield finding(
            "DRI025",
            dotted(stack.in_fabric("addressing")),
            f"{name} has {total - used} of {total} addresses left",
            seen=Seen(object=name, field=where, value=f"{used} of {total}"),
        )


def _unnamed(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """Nodes of the pools' machines that have no place in the plan of addresses, which names its nodes."""
    pools = [pool for pool in pools_of(stack, cluster) if pool.spec.named_nodes]
    named = {name for pool in stack.spec.cluster.pools for name in pool.named_nodes}
    if not pools or len(pools) < len(stack.spec.cluster.pools):
        return
    for pool in pools:
        alike = [node for node in workers(cluster) if name_of(node) not in named and has_gpus(node, pool.shape)]
        if alike:
            names = sorted(map(name_of, alike))
            yield finding(
                "DRI026",
                dotted(pool.at("nodeNames")),
                f"{some(names)}: the plan has no addresses for {'this node' if len(names) == 1 else 'these nodes'}, "
                "which cluster.pools does not name",
                seen=Seen(object=f"Node {names[0]}", field="metadata.name", value=names[0]),
            )
            return


def state_drift(case: Examination) -> Iterator[Finding]:
    """States of nodes that are gone: those that the operator still keeps on purpose, and those that it should not."""
    stack, cluster = case.stack, case.cluster
    if not cluster.is_readable("/api/v1/nodes"):
        return
    nodes = {name_of(node) for node in cluster.nodes}
    stale = [item for item in cluster.items(_STATES) if name_of(item) not in nodes]
    kept = [item for item in stale if annotations_of(item).get(_KEPT_UNTIL, "") >= case.overdue]
    left = [item for item in stale if item not in kept]
    if left:
        place, text, seen = _state(stack, left, "")
        yield finding("DRI027", place, text, seen=seen)
    if kept:
        until = max(annotations_of(item)[_KEPT_UNTIL] for item in kept)
        text = f", and keeps it until {until}" if len(kept) == 1 else f", until {until}"
        place, text, seen = _state(stack, kept, text)
        yield finding("DRI028", place, text, seen=seen)


def _state(stack: Stack, items: list[Json], until: str) -> tuple[str, str, Seen]:
    names, nodes = some([name_of(item) for item in items]), verb(items, "a node that does", "nodes that do")
    return (
        dotted(stack.in_fabric("virtualFunctions")),
        f"{names}: the operator has a state for {nodes} not exist{until}",
        Seen(object=called("SriovNetworkNodeState", items[0]), field="metadata.name", value=name_of(items[0])),
    )
