"""NVIDIA's IPAM controller: which node gets which share of a pool, and when a share is free again.

It is played, since its modules are not published. What it does is that of the Network Operator v26.4.1's nv-ipam
(pkg/ipam-controller/controllers/ippool and cidrpool): at each event of a node or pool it lists the nodes, keeps the
shares of those that the pool selects, drops all others, and gives the next free share to a node without one. Shares are
kept in the pool's status alone. What a pod gets of its node's share is kept on the node, and is not shown here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.live.cluster import labels_of, selects
from ..kubernetes_api import Object
from .operands import installed
from .views import Views
from .watching import key_of
from .writing import Writer

CONTROLLER = "nv-ipam-controller"
Address = IPv4Address | IPv6Address


class NvIpam:
    """Writes the shares of every pool of a cluster, while a pod of the controller is ready."""

    def __init__(self, views: Views, writer: Writer) -> None:
        self._views = views
        self._writer = writer
        self._done: dict[str, object] = {}

    def reconcile(self) -> None:
        """Write the shares that have changed."""
        views = self._views
        controllers = [item for item in views.deployments.objects().values() if item["metadata"]["name"] == CONTROLLER]
        if not any((item.get("status") or {}).get("readyReplicas") for item in controllers):
            return
        passes_over = self._passes_over()
        nodes = {name: labels_of(node) for name, node in views.nodes.objects().items()}
        for collection in (views.ip_pools, views.cidr_pools):
            for pool in collection.objects().values():
                chosen = sorted(name for name, labels in nodes.items() if is_chosen(pool, labels))
                known = (pool["metadata"]["resourceVersion"], chosen)
                if self._done.get(pool["metadata"]["uid"]) == known:
                    continue
                wanted = {"allocations": shares(pool, chosen, passes_over=passes_over)}
                if pool.get("status") == wanted or self._writer.patch(
                    collection, pool, {"status": wanted}, status=True
                ):
                    current = collection.objects().get(key_of(pool), pool)
                    self._done[pool["metadata"]["uid"]] = (current["metadata"]["resourceVersion"], chosen)

    def _passes_over(self) -> bool:
        for operator in self._views.operators.objects().values():
            line = installed(operator).line
            if line is not None:
                return catalog().releases[line].nv_ipam_passes_over
        return True


def is_chosen(pool: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a pool is for a node with these labels."""
    selector = pool["spec"].get("nodeSelector")
    return selector is None or any(selects(term, labels) for term in selector["nodeSelectorTerms"])


def shares(pool: Mapping[str, Any], nodes: Sequence[str], *, passes_over: bool) -> list[Object]:
    """The allocations of these nodes, sorted by name; a node for which nothing is free has none."""
    spec = pool["spec"]
    present = {row["nodeName"]: row for row in (pool.get("status") or {}).get("allocations") or ()}
    rows = {name: present[name] for name in nodes if name in present and _is_valid(spec, present[name])}
    static = spec.get("staticAllocations") or ()
    fixed = {row["nodeName"]: row["prefix"] for row in static if row.get("nodeName")}
    taken = {_key(row) for row in rows.values()} | {row["prefix"] for row in static}
    free = (row for row in _every(spec, passes_over) if _key(row) not in taken)
    for name in nodes:
        if name not in rows and (row := _prefix(spec, fixed[name]) if name in fixed else next(free, None)) is not None:
            rows[name] = {"nodeName": name, **row}
    return [rows[name] for name in nodes if name in rows]


def _key(row: Mapping[str, str]) -> str:
    return row.get("prefix") or row["startIP"]


def _every(spec: Mapping[str, Any], passes_over: bool) -> Iterator[Object]:
    """All shares of a pool in turn, without those that are wholly excluded where the version passes over them."""
    for first, last, row in _blocks(spec) if "subnet" in spec else _prefixes(spec):
        if not (passes_over and _is_excluded(spec, int(first), int(last))):
            yield row


def _blocks(spec: Mapping[str, Any]) -> Iterator[tuple[Address, Address, Object]]:
    network, size = ip_network(spec["subnet"]), spec["perNodeBlockSize"]
    first, end = int(network.network_address) + 1, int(network.broadcast_address) - (network.version == 4)
    while first + size - 1 <= end:
        start, last = ip_address(first), ip_address(first + size - 1)
        yield start, last, {"startIP": str(start), "endIP": str(last)}
        first += size


def _prefixes(spec: Mapping[str, Any]) -> Iterator[tuple[Address, Address, Object]]:
    for network in ip_network(spec["cidr"]).subnets(new_prefix=spec["perNodeNetworkPrefix"]):
        yield network.network_address, network.broadcast_address, _prefix(spec, str(network))


def _prefix(spec: Mapping[str, Any], prefix: str) -> Object:
    index = spec.get("gatewayIndex")
    gateway = {} if index is None else {"gateway": str(ip_network(prefix)[index])}
    return {"prefix": prefix, **gateway}


def _is_excluded(spec: Mapping[str, Any], first: int, last: int) -> bool:
    """Whether no address of a share is left; a block of one address is none if that is the gateway."""
    if first == last and spec.get("gateway") and first == int(ip_address(spec["gateway"])):
        return True
    ranges = sorted((int(ip_address(r["startIP"])), int(ip_address(r["endIP"]))) for r in spec.get("exclusions") or ())
    for start, end in ranges:
        if start <= first <= end:
            first = end + 1
    return first > last


def _is_valid(spec: Mapping[str, Any], row: Mapping[str, str]) -> bool:
    """Whether a share that a node has is one of the pool as it is now."""
    if "subnet" not in spec:
        prefix = row.get("prefix")
        network = None if prefix is None else ip_network(prefix)
        of_length = network is not None and network.prefixlen == spec["perNodeNetworkPrefix"]
        return of_length and network.subnet_of(ip_network(spec["cidr"]))  # type: ignore[arg-type, union-attr]
    if "startIP" not in row:
        return False
    size, base = spec["perNodeBlockSize"], int(ip_network(spec["subnet"]).network_address) + 1
    first, last = int(ip_address(row["startIP"])), int(ip_address(row["endIP"]))
    return first >= base and (first - base) % size == 0 and last - first == size - 1
