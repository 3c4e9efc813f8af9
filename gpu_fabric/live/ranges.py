"""Ranges in use: pods, services and nodes as they are, and pools of addresses that others have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import NamedTuple

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, name_of, namespace_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.stack import Stack
from gpu_fabric.rules.ranges import has_overlap
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import dotted

_IPAM = api_path("nv-ipam.nvidia.com/v1alpha1", "{}")
_SPIDERPOOL = api_path("spiderpool.spidernet.io/v2beta1", "{}")
_POOLS = (
    ("IPPool", _IPAM.format("ippools"), ("subnet",)),
    ("CIDRPool", _IPAM.format("cidrpools"), ("cidr",)),
    ("SpiderIPPool", _SPIDERPOOL.format("spiderippools"), ("subnet",)),
    ("SpiderSubnet", _SPIDERPOOL.format("spidersubnets"), ("subnet",)),
)


class Used(NamedTuple):
    """A range in use, and where it was read."""

    network: IPNetwork
    seen: Seen


def range_differences(case: Examination) -> Iterator[Finding]:
    """Ranges that overlap the stack's addresses, and those that are not what the stack file says."""
    stack, cluster = case.stack, case.cluster
    pods, services, nodes = tuple(_pods(cluster)), tuple(_services(cluster)), tuple(_nodes(cluster))
    yield from _not_as_stated(stack, {"pods": pods, "services": services, "nodes": nodes})
    foreign = tuple(_foreign_pools(stack, cluster))
    for fabric in stack.by_fabric:
        yield from _of_fabric(fabric, pods, services, nodes, foreign)


def _of_fabric(
    stack: Stack, pods: Iterable[Used], services: Iterable[Used], nodes: Iterable[Used], foreign: Iterable[Used]
) -> Iterator[Finding]:
    supernet, place = stack.plan.addresses.supernet, stack.in_fabric("addressing", "supernet")
    if supernet is None or not stack.plan.addresses.pools:
        return
    if (used := _first(supernet, pods)) is not None:
        message = f"{used.network}, in which pods have addresses, overlaps the fabric's {supernet}"
        yield finding("PRE080", dotted(place), message, seen=used.seen)
    if (used := _first(supernet, services)) is not None:
        message = f"{used.network}, in which services have addresses, overlaps the fabric's {supernet}"
        yield finding("PRE081", dotted(place), message, seen=used.seen)
    if (used := _first(supernet, nodes)) is not None:
        address = used.network.network_address
        yield finding(
            "PRE082", dotted(place), f"a node's address {address} is in the fabric's {supernet}", seen=used.seen
        )
    for used in foreign:
        if has_overlap(supernet, used.network):
            message = f"{used.seen.object} hands out {used.network}, which overlaps the fabric's {supernet}"
            yield finding("PRE083", dotted(place), message, seen=used.seen)


def _first(supernet: IPNetwork, used: Iterable[Used]) -> Used | None:
    return next((entry for entry in used if has_overlap(supernet, entry.network)), None)


def _network(text: object) -> IPNetwork | None:
    try:
        return ip_network(str(text), strict=False)
    except ValueError:
        return None


def _used(texts: Iterable[object], called_so: str, name: str) -> Iterator[Used]:
    for text in texts:
        if (network := _network(text)) is not None:
            yield Used(network, Seen(object=called_so, field=name, value=str(text)))


def _pods(cluster: Cluster) -> Iterator[Used]:
    for node in cluster.nodes:
        spec = field(node, "spec") or {}
        texts = spec.get("podCIDRs") or [spec.get("podCIDR")]
        yield from _used((text for text in texts if text), f"Node {name_of(node)}", "spec.podCIDRs")
    for pool in cluster.items(api_path("crd.projectcalico.org/v1", "ippools")):
        yield from _used([field(pool, "spec", "cidr")], f"Calico's IPPool {name_of(pool)}", "spec.cidr")


def _services(cluster: Cluster) -> Iterator[Used]:
    ranges = cluster.items(api_path("networking.k8s.io/v1", "servicecidrs"))
    for item in ranges:
        yield from _used(field(item, "spec", "cidrs") or (), f"ServiceCIDR {name_of(item)}", "spec.cidrs")
    if not ranges:
        # Older servers do not show their range; one service always has an address in it.
        service = cluster.get("/api/v1/namespaces/default/services/kubernetes")
        yield from _used([field(service, "spec", "clusterIP")], "Service default/kubernetes", "spec.clusterIP")


def _nodes(cluster: Cluster) -> Iterator[Used]:
    for node in cluster.nodes:
        texts = [
            entry.get("address")
            for entry in field(node, "status", "addresses") or ()
            if entry.get("type") == "InternalIP"
        ]
        yield from _used(texts, f"Node {name_of(node)}", "status.addresses[InternalIP]")


def _not_as_stated(stack: Stack, used: dict[str, tuple[Used, ...]]) -> Iterator[Finding]:
    for key, stated in stack.spec.cluster.ranges.own().items():
        outside = next(
            (
                entry
                for entry in used[key]
                if entry.network.version == stated.version and not _is_within(entry.network, stated)
            ),
            None,
        )
        if outside is not None:
            yield finding(
                "PRE084",
                dotted(("cluster", "ranges", key)),
                f"the stack file says {stated}, and {outside.seen.object} has {outside.seen.value}: the proof of the "
                "addresses was made with the wrong range",
                seen=outside.seen,
            )


def _is_within(network: IPNetwork, stated: IPNetwork) -> bool:
    return network.subnet_of(stated)  # type: ignore[arg-type]


def _foreign_pools(stack: Stack, cluster: Cluster) -> Iterator[Used]:
    planned = {(entry.object.kind, entry.name) for entry in stack.objects}
    for kind, path, (key,) in _POOLS:
        for item in cluster.items(path):
            if stack.is_foreign(item) and (kind, name_of(item)) not in planned:
                yield from _used([field(item, "spec", key)], called(kind, item), f"spec.{key}")
    for item in cluster.items(api_path("k8s.cni.cncf.io/v1", "network-attachment-definitions")):
        if not stack.is_foreign(item) or (namespace_of(item), name_of(item)) in stack.networks:
            continue
        yield from _used(_of_configuration(item), called("NetworkAttachmentDefinition", item), "spec.config")


def _of_configuration(item: Json) -> Iterator[object]:
    """The ranges of an IPAM in a CNI configuration: Whereabouts' `range` and `ipRanges`, host-local's `ranges`."""
    try:
        configuration = json.loads(field(item, "spec", "config") or "{}")
    except ValueError:
        return
    if not isinstance(configuration, dict):
        return
    for plug_in in configuration.get("plugins") or [configuration]:
        ipam = field(plug_in, "ipam")
        if not isinstance(ipam, dict):
            continue
        yield from (text for text in [ipam.get("range"), ipam.get("subnet")] if text)
        yield from (entry.get("range") for entry in ipam.get("ipRanges") or ())
        yield from (entry.get("subnet") for rows in ipam.get("ranges") or () for entry in rows)
