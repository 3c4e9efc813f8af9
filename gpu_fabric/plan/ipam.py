"""The address plan in the form of each IPAM: its pool objects, and the `ipam` section of a network.

NVIDIA's IPAM has an IPPool for a shared subnet and a CIDRPool for a prefix per node; Spiderpool has a pool per rail, or
per node and rail, and reserved addresses; Whereabouts has its range in the network itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import summarize_address_range
from itertools import pairwise

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import Ipam, NvIpam
from gpu_fabric.k8s.nv_ipam import (
    CIDRPool,
    CIDRPoolSpec,
    ExcludedIndexes,
    ExcludedRange,
    IPPool,
    IPPoolSpec,
    Route,
    StaticAllocation,
)
from gpu_fabric.k8s.scheduling import NodeSelector, nodes_with
from gpu_fabric.k8s.spiderpool import PoolRoute, SpiderIPPool, SpiderIPPoolSpec, SpiderReservedIP, SpiderReservedIPSpec
from gpu_fabric.k8s.whereabouts import Whereabouts
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.addresses.plan import AddressSpace, Run, address, span_text
from gpu_fabric.plan.records import PlannedObject

# Spiderpool's webhook counts the addresses of a range one by one; larger ranges are only left out of the pools.
_LONGEST_RESERVED = 65536


def pool_objects(
    addresses: AddressPlan, namespace: str, node_labels: Mapping[str, str] | None = None, *, routed: bool = False
) -> tuple[PlannedObject, ...]:
    """The pools as objects, in rail order; none where the networks or the hosts carry the addresses.

    Pools per node are in `node_pools`. nv-ipam looks for pools in `namespace`, and nowhere else; Spiderpool's pools
    are cluster-scoped. `node_labels` select the nodes to which nv-ipam gives shares; without labels, all nodes.
    `routed`: CIDRPools say what a rail reaches through its gateway, since no plug-in of the network does.
    """
    if addresses.ipam == "nv-ipam":
        # Without labels it is every node of the cluster.
        nodes = nodes_with(node_labels) if node_labels else None
        return tuple(_nv_ipam_pool(addresses, pool, namespace, nodes, routed=routed) for pool in addresses.pools)
    if addresses.ipam == "spiderpool" and addresses.layout != "per-node":
        return tuple(entry for pool in addresses.pools for entry in _spiderpool_pools(addresses, pool))
    return ()


def node_pools(addresses: AddressPlan) -> tuple[tuple[AddressPool, tuple[PlannedObject, ...]], ...]:
    """Every rail with its pools, one per node; empty where pools are not per node."""
    if addresses.ipam != "spiderpool" or addresses.layout != "per-node":
        return ()
    return tuple((pool, _spiderpool_pools(addresses, pool)) for pool in addresses.pools)


def reserved_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The addresses that no pool of Spiderpool may assign: the excluded and, in shared subnets, the reserved ones.

    The reserved ones at the ends of a node's prefix are only left out of its pool: they would need an object per node.
    """
    if addresses.ipam != "spiderpool":
        return ()
    found = ((pool, _reserved(pool)) for pool in addresses.pools)
    return tuple(
        PlannedObject(
            object=SpiderReservedIP(
                metadata=ObjectMeta(name=pool.name),
                spec=SpiderReservedIPSpec(
                    ip_version=4 if pool.space.version == 4 else 6,
                    ips=tuple(span_text(pool.space.version, AddressSpace((run,))) for run in space.runs),
                ),
            )
        )
        for pool, space in found
        if space.runs
    )


def cni_ipam(addresses: AddressPlan, pool: AddressPool | None) -> Ipam | None:
    """The `ipam` section of a network that takes its addresses from a pool; None if the network needs no section."""
    if pool is None:
        return None
    if addresses.ipam == "nv-ipam":
        return NvIpam(pool_name=pool.name, pool_type=None if pool.node_prefix_length is None else "cidrpool")
    if addresses.ipam == "whereabouts":
        return _whereabouts(pool)
    return None


def _whereabouts(pool: AddressPool) -> Whereabouts:
    """The `ipam` section with the pool's range; the gaps between its runs of addresses are excluded."""
    version, runs = pool.space.version, pool.available.runs
    gaps = [
        network
        for (_, last), (first, _) in pairwise(runs)
        for network in summarize_address_range(address(version, last + 1), address(version, first - 1))
    ]
    return Whereabouts(
        range=str(pool.subnet),
        range_start=str(address(version, runs[0][0])),
        range_end=str(address(version, runs[-1][1])),
        exclude=tuple(str(gap) for gap in gaps) or None,
        gateway=None if pool.gateway is None else str(pool.gateway),
    )


def _nv_ipam_pool(
    addresses: AddressPlan, pool: AddressPool, namespace: str, nodes: NodeSelector | None, *, routed: bool
) -> PlannedObject:
    metadata = ObjectMeta(name=pool.name, namespace=namespace)
    if pool.node_prefix_length is None:
        runs = ((int(span.first), int(span.last)) for span in pool.excluded)
        base = int(pool.space.network_address)
        reserved = ((base + first, base + last) for first, last in reserved_indexes(pool))
        shared = IPPoolSpec(
            subnet=str(pool.subnet),
            per_node_block_size=pool.addresses_per_node,
            gateway=None if pool.gateway is None else str(pool.gateway),
            exclusions=_exclusions(pool, AddressSpace.of((*reserved, *runs)).runs),
            node_selector=nodes,
        )
        return PlannedObject(object=IPPool(metadata=metadata, spec=shared))
    indexes = (ExcludedIndexes(start_index=first, end_index=last) for first, last in reserved_indexes(pool))
    # Without names, nv-ipam itself assigns the prefixes, in order.
    named = addresses.numbered_nodes if addresses.node_names else ()
    static = (StaticAllocation(prefix=str(pool.node_prefix(number)), node_name=name) for number, name in named)
    prefixes = CIDRPoolSpec(
        cidr=str(pool.space),
        per_node_network_prefix=pool.node_prefix_length,
        gateway_index=gateway_index(pool),
        exclusions=_exclusions(pool, _excluded_from_prefixes(pool)),
        per_node_exclusions=tuple(indexes) or None,
        static_allocations=tuple(static) or None,
        # The rail's other nodes, and all rails: of several routes to these the kernel takes the first.
        routes=tuple(Route(dst=str(reached)) for reached in dict.fromkeys((pool.space, addresses.supernet)))
        if routed
        else None,
        node_selector=nodes,
    )
    return PlannedObject(object=CIDRPool(metadata=metadata, spec=prefixes))


def gateway_index(pool: AddressPool) -> int | None:
    """The place of the gateway in each node's prefix, counted from its first address; None without a gateway."""
    if pool.gateway is None:
        return None
    return int(pool.gateway) - int(pool.space.network_address)


def reserved_indexes(pool: AddressPool) -> tuple[tuple[int, int], ...]:
    """Runs of reserved places in each node's prefix or in the pool's space, counted from its first address."""
    begin = pool.bounds(0)[0]
    first, last = (host - begin for host in pool.hosts)
    runs = []
    if pool.reserved_first:
        runs.append((first, first + pool.reserved_first - 1))
    if pool.reserved_last:
        runs.append((last - pool.reserved_last + 1, last))
    return tuple(runs)


def _exclusions(pool: AddressPool, runs: Iterable[Run]) -> tuple[ExcludedRange, ...] | None:
    """Runs of addresses in nv-ipam's form; if two of a node overlap, nv-ipam assigns none on that node."""
    version = pool.space.version
    listed = (
        ExcludedRange(start_ip=str(address(version, first)), end_ip=str(address(version, last))) for first, last in runs
    )
    return tuple(listed) or None


def _excluded_from_prefixes(pool: AddressPool) -> Iterator[Run]:
    """The excluded addresses without those reserved in each prefix: nv-ipam gets these as places, and only once.

    Prefixes that are excluded as a whole stay one run, since no node has one of them. No run ends at the first address
    of a prefix in which it does not begin: nv-ipam would cut such a run to one that ends before it begins.
    """
    size = pool.bounds(0)[1] - pool.bounds(0)[0] + 1
    base = int(pool.space.network_address)
    reserved = bool(reserved_indexes(pool))
    for span in pool.excluded:
        first, last = int(span.first), int(span.last)
        begin, end = first - (first - base) % size, last - (last - base) % size
        if begin != end and last == end and size > 2:
            last, end = last - 1, end - size
        if not reserved:
            yield first, last
            continue
        if first > begin or last < begin + size - 1:
            # The first prefix is excluded in part.
            yield from _less_reserved(pool, begin, (first, min(last, begin + size - 1)))
            first = begin + size
        rest = last if last == end + size - 1 else end - 1
        if first <= rest:
            yield first, rest
        if max(first, rest + 1) <= last:
            yield from _less_reserved(pool, end, (end, last))


def _less_reserved(pool: AddressPool, prefix: int, run: Run) -> tuple[Run, ...]:
    reserved = AddressSpace.of((prefix + first, prefix + last) for first, last in reserved_indexes(pool))
    return AddressSpace((run,)).minus(reserved).runs


def _spiderpool_pools(addresses: AddressPlan, pool: AddressPool) -> tuple[PlannedObject, ...]:
    """The pool of a rail; with the layout per-node one for each node, bound to the node's name if it is known.

    A pool is named after the node's share number, not its name: the API refuses two pools of one subnet, so a
    replacement node with another name must keep the pool.
    """
    if pool.node_prefix_length is None:
        return (_rail_pool(addresses, pool, pool.name, str(pool.subnet), 0),)
    bound = bool(addresses.node_names)
    (number, name), *others = addresses.numbered_nodes
    first = _rail_pool(
        addresses, pool, node_pool_name(pool, number), pool.share_text(number), number, name if bound else None
    )
    return (first, *(_further_pool(first, pool, number, name, bound) for number, name in others))


def pool_pattern(pool: AddressPool) -> str:
    """The name of a network's pool, or the pattern of all nodes' pools: the dash keeps rail-1 from matching rail-10."""
    return pool.name if pool.node_prefix_length is None else f"{pool.name}-node-*"


def node_pool_name(pool: AddressPool, number: int) -> str:
    """The name of a node's pool, by the number of its share."""
    return f"{pool.name}-node-{number:04d}"


def _reserved(pool: AddressPool) -> AddressSpace:
    shared = pool.node_prefix_length is None
    first, last = int(pool.space.network_address), int(pool.space.broadcast_address)
    kept = pool.altered(excluded=(), gateway_position="none").available if shared else AddressSpace(((first, last),))
    hosts = pool.altered(excluded=(), gateway_position="none", reserved_first=0, reserved_last=0).available
    spans = [*hosts.minus(kept).runs, *((int(span.first), int(span.last)) for span in pool.excluded)]
    return AddressSpace.of(run for run in AddressSpace.of(spans).runs if run[1] - run[0] < _LONGEST_RESERVED)


def _rail_pool(
    addresses: AddressPlan, pool: AddressPool, name: str, subnet: str, number: int, node: str | None = None
) -> PlannedObject:
    """The pool of a rail, or of a node by its share's number; `node` is the name to which it is bound."""
    gateway = pool.gateway_of(number)
    routed = gateway is not None and pool.node_prefix_length is not None and pool is addresses.pools[0]
    spec = SpiderIPPoolSpec(
        subnet=subnet,
        ip_version=4 if pool.space.version == 4 else 6,
        ips=_listed(pool, number),
        gateway=None if gateway is None else str(gateway),
        # A pod reaches other nodes' rails on which it has no interface through the first rail, as in the guides.
        routes=(PoolRoute(dst=str(addresses.supernet), gw=str(gateway)),) if routed else None,
        node_name=None if node is None else (node,),
    )
    return PlannedObject(object=SpiderIPPool(metadata=ObjectMeta(name=name), spec=spec), replaced_on=("spec.subnet",))


def _further_pool(first: PlannedObject, pool: AddressPool, number: int, name: str, bound: bool) -> PlannedObject:
    """The pool of a further node.

    A large cluster has tens of thousands of these. They differ from the first, validated one only in numbers that the
    plan has proved, so they are not validated again.
    """
    gateway = pool.gateway_of(number)
    template = first.object
    assert isinstance(template, SpiderIPPool), "made by `_rail_pool`"
    routes = template.spec.routes
    spec = template.spec.model_copy(
        update={
            "subnet": pool.share_text(number),
            "ips": _listed(pool, number),
            "gateway": None if gateway is None else str(gateway),
            "routes": routes and tuple(route.model_copy(update={"gw": str(gateway)}) for route in routes),
            "node_name": (name,) if bound else None,
        }
    )
    metadata = template.metadata.model_copy(update={"name": node_pool_name(pool, number)})
    return first.model_copy(update={"object": template.model_copy(update={"metadata": metadata, "spec": spec})})


def _listed(pool: AddressPool, number: int) -> tuple[str, ...]:
    """The addresses in Spiderpool's form, merged and sorted: others would differ at every refresh."""
    space = pool.available if pool.node_prefix_length is None else pool.share(number)
    listed = space.slice(0, catalog().address_limits.spiderpool_listed.value)
    return tuple(span_text(pool.space.version, AddressSpace((run,))) for run in listed.runs)
