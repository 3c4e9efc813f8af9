"""A team at DigitalOcean as doctl shows it. The fields are those of DigitalOcean's API, version 2."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.account import Ask, Wanted, wanted
from gpu_fabric.live.cluster import Json
from gpu_fabric.live.several import some
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.clouds.doks import DoksResources
from gpu_fabric.rules.ranges import has_overlap
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.places import Location, dotted

# Those of every cluster whose pods have no addresses of the VPC, in all of which they are the same.
_NOT_OF_A_VPC = ("10.244.0.0/16", "10.245.0.0/16")


def doks_differences(stack: Stack, cluster: DoksClusterSpec, ask: Ask) -> Iterator[Finding]:
    """What a team lacks of a plan. A cluster of the plan's name counts as the stack's own, with its pools."""
    planned = stack.plan.cluster.doks
    assert planned is not None, "a stack with a cluster at DigitalOcean plans its resources"
    clusters = _rows(ask("kubernetes", "cluster", "list"))
    own = next((row for row in clusters if row.get("name") == planned.cluster.name), None)
    pools = {pool.get("name"): pool for pool in (own or {}).get("node_pools") or ()}
    system = Wanted("system", cluster.system_pool.size, cluster.system_pool.nodes, ("cluster", "systemPool"))
    every = (system, *wanted(cluster.pools, cluster.other_pools))
    yield from _sizes(cluster.region, [pool for pool in every if pool.name not in pools], own is None, ask)
    if own is None:
        yield from _version(planned, ask)
        yield from _ranges(planned, clusters, ask)
    there = sum(int(pool.get("count") or 0) for pool in pools.values())
    yield from _droplets(cluster, sum(pool.nodes for pool in every), there, ask)


def _rows(answer: Any) -> list[Json]:
    # doctl prints `null` for an empty list.
    return list(answer or ())


def _sizes(region: str, pools: list[Wanted], is_new: bool, ask: Ask) -> Iterator[Finding]:
    sizes = {row.get("slug"): row for row in _rows(ask("compute", "size", "list"))}
    for pool in pools:
        if pool.name == "system" and not is_new:
            continue
        key = "size" if pool.place[1] != "pools" else "shape"
        row = sizes.get(pool.machine)
        if row is None:
            yield finding(
                "PRE120",
                dotted(pool.at(key)),
                f"DigitalOcean lists no size {pool.machine} to this team",
                seen=Seen(object="doctl compute size list", field="slug", value=f"{len(sizes)} others"),
            )
        elif region not in (row.get("regions") or ()) or row.get("available") is False:
            offered = ", ".join(row.get("regions") or ()) or "no region"
            yield finding(
                "PRE121",
                dotted(pool.at(key)),
                f"DigitalOcean offers {pool.machine} in {offered}, and the stack is in {region}",
                seen=Seen(object=f"size {pool.machine}", field="regions", value=offered),
            )


def _version(planned: DoksResources, ask: Ask) -> Iterator[Finding]:
    slugs = [str(row.get("slug")) for row in _rows(ask("kubernetes", "options", "versions"))]
    prefix = planned.version_prefix
    if not any(slug == prefix or slug.startswith((f"{prefix}.", f"{prefix}-")) for slug in slugs):
        yield finding(
            "PRE122",
            dotted(("cluster", "version")),
            f"DigitalOcean offers no Kubernetes {prefix.rstrip('.-')} for new clusters",
            f"write one of: {', '.join(slugs)}",
            seen=Seen(object="doctl kubernetes options versions", field="slug", value=", ".join(slugs) or "none"),
        )


def _droplets(cluster: DoksClusterSpec, wanted_nodes: int, there: int, ask: Ask) -> Iterator[Finding]:
    limit = int(ask("account", "get").get("droplet_limit") or 0)
    others = max(0, len(_rows(ask("compute", "droplet", "list"))) - there)
    if limit and others + wanted_nodes > limit:
        yield finding(
            "PRE123",
            dotted(("cluster", "dropletQuota")),
            f"the stack comes to {wanted_nodes} Droplets, and the team has {others} others: {others + wanted_nodes}, "
            f"where {limit} are allowed",
            seen=Seen(object="doctl account get", field="droplet_limit", value=str(limit)),
        )
    elif limit and cluster.droplet_quota > limit:
        yield finding(
            "PRE124",
            dotted(("cluster", "dropletQuota")),
            f"the stack file says that the team may have {cluster.droplet_quota} Droplets, and it may have {limit}",
            f"write dropletQuota: {limit}",
            seen=Seen(object="doctl account get", field="droplet_limit", value=str(limit)),
        )


def _ranges(planned: DoksResources, clusters: list[Json], ask: Ask) -> Iterator[Finding]:
    """Ranges of other networks of the team: DigitalOcean refuses one that overlaps them."""
    own = None if planned.vpc is None else planned.vpc.name
    vpcs = [row for row in _rows(ask("vpcs", "list")) if own is None or row.get("name") != own]
    used = [(f"VPC {row.get('name')}", "ip_range", str(row.get("ip_range"))) for row in vpcs]
    for row in clusters:
        subnets = tuple(str(row.get(key)) for key in ("cluster_subnet", "service_subnet"))
        if subnets != _NOT_OF_A_VPC:
            used += [
                (f"cluster {row.get('name')}", key, subnet)
                for key, subnet in zip(("cluster_subnet", "service_subnet"), subnets, strict=True)
            ]
    for key, text in (
        ("nodes", None if planned.vpc is None else planned.vpc.ip_range),
        ("pods", planned.cluster.cluster_subnet),
        ("services", planned.cluster.service_subnet),
    ):
        network = _network(text)
        over = [entry for entry in used if has_overlap(network, _network(entry[2]))]
        if over:
            place: Location = ("cluster", "ranges", key)
            names = some([f"{range_} of {whose}" for whose, _, range_ in over])
            yield finding(
                "PRE125",
                dotted(place),
                f"{text} overlaps {names}",
                seen=Seen(object=over[0][0], field=over[0][1], value=over[0][2]),
            )


def _network(text: str | None) -> IPNetwork | None:
    try:
        return None if text is None else ip_network(text, strict=False)
    except ValueError:
        return None
