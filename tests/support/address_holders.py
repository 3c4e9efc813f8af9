"""Who may hold which address of a plan, by its objects alone, and whether an edit takes one, by brute force."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from gpu_fabric.render.model import RenderedPlan, RenderedResource

Held = dict[str, set[int]]
"""Addresses by their holder: a node's name, the place of a node that is not named, or all that take turns."""

_OF_MACHINES = ("node.kubernetes.io/instance-type", "feature.node.kubernetes.io/pci-")


@dataclass
class Rail:
    """What a rail's objects give. `key` names what remembers leases, and `pinned` says whose names decide."""

    key: str
    held: Held
    allowed: Held
    pinned: bool = False
    gateway: Any = None
    size: int = 0
    nic: tuple[str | None, str | None] = (None, None)
    interfaces: frozenset[str] = frozenset()
    labels: frozenset[tuple[str, str]] = frozenset()
    by_name: bool = False
    objects: frozenset[str] = frozenset()
    hosts: dict[str, int] = field(default_factory=dict)


def rails_of(plan: RenderedPlan) -> dict[int, Rail]:
    """Every rail of a plan that gives addresses."""
    return dict(_rails(plan))


def loses(base: RenderedPlan, head: RenderedPlan) -> list[str]:
    """Why an address that a pod or a host holds by one plan is another's, or another NIC's, by the other."""
    before, after = rails_of(base), rails_of(head)
    return [f"rail {rail}: {reason}" for rail, old in before.items() for reason in _lost(old, after.get(rail))]


def _lost(old: Rail, new: Rail | None) -> Iterator[str]:
    if new is None:
        yield "gone"
        return
    if old.key != new.key:
        yield f"{old.key} is not {new.key}"
        return
    if new.pinned and not old.pinned and old.held:
        yield "pinned by names"
    elif not new.pinned and not old.pinned and old.gateway != new.gateway:
        yield "another gateway of allocations"
    else:
        # What is bound to names no more stays given as it is, where such a share is there still.
        shares = [*new.allowed.values()]
        for holder in old.held.keys() & new.allowed.keys() if new.pinned == old.pinned else old.held:
            allowed = [new.allowed[holder]] if new.pinned == old.pinned else shares
            # A prefix of another length is discarded, and another one given.
            discarded = not new.pinned and new.size != old.size
            if discarded or not any(old.held[holder] <= share for share in allowed):
                yield f"{holder} loses an address"
    if not old.objects <= new.objects:
        yield "an object is gone"
    for node, address in old.hosts.items():
        if new.hosts and node in new.hosts and new.hosts[node] != address:
            yield f"host {node} gets another address"
        if not new.hosts and any(address in held for held in new.held.values()):
            yield f"the address of host {node} becomes a pod's"
    if _is_another(old, new):
        yield f"NIC {old.nic} becomes {new.nic}"
    if not new.labels <= old.labels:
        yield "labels"


def _is_another(old: Rail, new: Rail) -> bool:
    (pci, name), (new_pci, new_name) = old.nic, new.nic
    if not (name and new_name) or (pci and new_pci and not old.by_name):
        return bool(pci and new_pci and pci != new_pci)
    return name != new_name and not (pci and pci == new_pci and new_name not in old.interfaces)


def _rails(plan: RenderedPlan) -> Iterator[tuple[int, Rail]]:
    nodes = sum(pool["nodes"] for pool in plan.decisions["cluster"]["pools"])
    by_interface = (plan.decisions["choices"].get("row") or {}).get("access") == "shared"
    facts = {rail["index"]: rail for rail in plan.decisions["rails"]}
    names = [rail["interface"] for rail in facts.values()]
    hosts = _hosts(plan)
    served = {pool["name"]: pool["rails"] for pool in plan.proof["pools"]}
    for pool, rails, found in _pools(plan, nodes):
        for rail in rails:
            own = Rail(**vars(found))
            # Where all rails take from one pool, no subnet is a NIC's own.
            if len(served[pool]) == 1:
                own.nic = (facts[rail].get("pci"), facts[rail].get("interface"))
                own.by_name = by_interface
                own.interfaces = frozenset(entry for place, entry in enumerate(names) if entry and place != rail)
            own.hosts = hosts.get(pool, {})
            yield rail, own


def _pools(plan: RenderedPlan, nodes: int) -> Iterator[tuple[str, list[int], Rail]]:
    per_nic = plan.proof["addressesPerNic"]
    served = {pool["name"]: pool["rails"] for pool in plan.proof["pools"]}
    for entry in plan.resources:
        name = (entry.properties.get("metadata") or {}).get("name", "")
        if entry.component == "ip-pools" and name in served:
            kind = entry.type.rpartition(":")[2]
            spec = entry.properties["spec"]
            yield (
                name,
                served[name],
                {"IPPool": _blocks, "CIDRPool": _prefixes, "SpiderIPPool": _in_turn}[kind](
                    f"{kind} {name}", spec, nodes, per_nic
                ),
            )
        elif entry.component == "node-pools":
            pool = entry.name.removeprefix("node-pools-")
            yield pool, served[pool], _of_nodes(entry, pool)
    if plan.proof["ipam"] == "whereabouts":
        yield from _leased(plan, served, nodes, per_nic)


def _blocks(key: str, spec: dict[str, Any], nodes: int, _per_nic: int) -> Rail:
    network, size = ip_network(spec["subnet"]), spec["perNodeBlockSize"]
    out = _excluded(spec) | ({int(ip_address(spec["gateway"]))} if spec.get("gateway") else set())
    start, end = int(network.network_address) + 1, int(network.broadcast_address)
    if size > 1:
        held = {f"node {k}": {*range(start + k * size, start + (k + 1) * size)} - out for k in range(nodes)}
        return Rail(key, held, held, labels=_labels(spec))
    # nv-ipam 0.4.0 gives the next block of one that is not excluded, and keeps what it gave while that is none of them.
    free = [address for address in range(start, end) if address not in out]
    held = {f"node {k}": {free[k]} for k in range(nodes)}
    return Rail(key, held, {name: {*free} for name in held}, labels=_labels(spec))


def _prefixes(key: str, spec: dict[str, Any], nodes: int, _per_nic: int) -> Rail:
    space, length = ip_network(spec["cidr"]), spec["perNodeNetworkPrefix"]
    out, size = _excluded(spec), 1 << (space.max_prefixlen - length)
    fixed = spec.get("staticAllocations") or ()
    starts = {entry["nodeName"]: int(ip_network(entry["prefix"]).network_address) for entry in fixed}
    starts = starts or {f"node {k}": int(space.network_address) + k * size for k in range(nodes)}
    index = spec.get("gatewayIndex")

    def given(start: int) -> set[int]:
        kept = {index} if index is not None else set()
        for entry in spec.get("perNodeExclusions") or ():
            kept |= {*range(entry["startIndex"], entry["endIndex"] + 1)}
        inside = range(size) if size <= 2 else range(1, size - 1)
        return {start + place for place in inside if place not in kept} - out

    held = {node: given(start) for node, start in starts.items()}
    anywhere = {f"node {k}": given(int(space.network_address) + k * size) for k in range(nodes + 8)}
    return Rail(
        key, held, held if fixed else anywhere, pinned=bool(fixed), gateway=index, size=size, labels=_labels(spec)
    )


def _in_turn(key: str, spec: dict[str, Any], nodes: int, per_nic: int) -> Rail:
    listed = [value for span in spec["ips"] for value in _span(*(span.split("-") * 2)[:2])]
    return Rail(key, {"all": {*sorted(listed)[: nodes * per_nic]}}, {"all": {*listed}})


def _of_nodes(entry: RenderedResource, pool: str) -> Rail:
    pools = entry.properties["objects"]["SpiderIPPool"]
    held = {
        (spec.get("nodeName") or [f"node {int(name.rpartition('-')[2])}"])[0]: {
            value for span in spec["ips"] for value in _span(*(span.split("-") * 2)[:2])
        }
        for name, spec in ((name, found["spec"]) for name, found in pools.items())
    }
    bound = all("nodeName" in found["spec"] for found in pools.values())
    return Rail(f"SpiderIPPool {pool} {entry.properties['cut']}", held, held, pinned=bound, objects=frozenset(pools))


def _leased(
    plan: RenderedPlan, served: dict[str, list[int]], nodes: int, per_nic: int
) -> Iterator[tuple[str, list[int], Rail]]:
    rails = {entry["network"]: entry["rail"] for entry in plan.contract["networks"]}
    for entry in plan.resources:
        name = (entry.properties.get("metadata") or {}).get("name")
        if entry.component == "networks" and name in rails:
            (ipam,) = (
                part["ipam"] for part in json.loads(entry.properties["spec"]["config"])["plugins"] if "ipam" in part
            )
            out = {value for gap in ipam.get("exclude") or () for value in map(int, ip_network(gap))}
            listed = sorted({*_span(ipam["range_start"], ipam["range_end"])} - out)
            (pool,) = (pool for pool, of_pool in served.items() if rails[name] in of_pool)
            every = len(served[pool]) * per_nic * nodes
            yield pool, [rails[name]], Rail(f"leases {ipam['range']}", {"all": {*listed[:every]}}, {"all": {*listed}})


def _hosts(plan: RenderedPlan) -> dict[str, dict[str, int]]:
    """What each node's NIC is given, pool by pool."""
    found: dict[str, dict[str, int]] = {}
    for entry in plan.resources:
        tables = [entry.properties] if entry.type.endswith(":ConfigMap") else []
        tables += (
            (entry.properties.get("objects") or {}).get("ConfigMap", {}).values()
            if "objects" in entry.properties
            else []
        )
        for table in tables:
            name = table["metadata"]["name"]
            if name.startswith("host-addresses-"):
                lines = table["data"].items()
                found[name.removeprefix("host-addresses-")] = {
                    node: int(ip_address(line.split()[1].partition("/")[0])) for node, line in lines
                }
    return found


def _excluded(spec: dict[str, Any]) -> set[int]:
    return {value for entry in spec.get("exclusions") or () for value in _span(entry["startIP"], entry["endIP"])}


def _span(first: str, last: str) -> range:
    return range(int(ip_address(first)), int(ip_address(last)) + 1)


def _labels(spec: dict[str, Any]) -> frozenset[tuple[str, str]]:
    terms = spec["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"]
    return frozenset((has["key"], *has["values"]) for has in terms if not has["key"].startswith(_OF_MACHINES))
