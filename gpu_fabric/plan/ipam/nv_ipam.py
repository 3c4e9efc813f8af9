"""The address plan for NVIDIA's IPAM: an IPPool for a shared subnet, a CIDRPool for a prefix per node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.cni import NvIpam
from gpu_fabric.k8s.nv_ipam import (
    CIDRPool,
    CIDRPoolSpec,
    ExcludedIndexes,
    ExcludedRange,
    IPPool,
    IPPoolSpec,
    StaticAllocation,
)
from gpu_fabric.k8s.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.addresses.capacity import hosts_in
from gpu_fabric.plan.addresses.model import AddressSpace, Run, address
from gpu_fabric.plan.records import PlannedObject


def pool_objects(addresses: AddressPlan, namespace: str, node_labels: Mapping[str, str]) -> tuple[PlannedObject, ...]:
    """One object per pool, in the operator's namespace: nv-ipam looks nowhere else."""
    nodes = _nodes(node_labels)
    return tuple(
        PlannedObject(
            object=IPPool(metadata=ObjectMeta(name=pool.name, namespace=namespace), spec=_shared(pool, nodes))
            if pool.node_prefix_length is None
            else CIDRPool(
                metadata=ObjectMeta(name=pool.name, namespace=namespace),
                spec=_own_prefixes(pool, pool.node_prefix_length, nodes, addresses),
            )
        )
        for pool in addresses.pools
    )


def cni_ipam(pool: AddressPool) -> NvIpam:
    """The `ipam` section that names the pool."""
    return NvIpam(pool_name=pool.name, pool_type=None if pool.node_prefix_length is None else "cidrpool")


def _nodes(labels: Mapping[str, str]) -> NodeSelector | None:
    """The nodes with all labels; None without labels, which means every node of the cluster."""
    if not labels:
        return None
    has = (NodeSelectorRequirement(key=key, operator="In", values=(text,)) for key, text in sorted(labels.items()))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=tuple(has)),))


def _shared(pool: AddressPool, nodes: NodeSelector | None) -> IPPoolSpec:
    return IPPoolSpec(
        subnet=str(pool.subnet),
        per_node_block_size=pool.addresses_per_node,
        gateway=None if pool.gateway is None else str(pool.gateway),
        exclusions=_ranges(pool, AddressSpace.of((*_reserved(pool), *_excluded(pool))).runs),
        node_selector=nodes,
    )


def _own_prefixes(pool: AddressPool, prefix: int, nodes: NodeSelector | None, addresses: AddressPlan) -> CIDRPoolSpec:
    return CIDRPoolSpec(
        cidr=str(pool.space),
        per_node_network_prefix=prefix,
        gateway_index=gateway_index(pool),
        exclusions=_ranges(pool, _excluded_from_prefixes(pool)),
        per_node_exclusions=tuple(
            ExcludedIndexes(start_index=first, end_index=last) for first, last in reserved_indexes(pool)
        )
        or None,
        # Without names, nv-ipam itself assigns the prefixes, in order.
        static_allocations=tuple(
            StaticAllocation(prefix=str(pool.node_prefix(number)), node_name=name)
            for number, name in addresses.numbered_nodes
        )
        if addresses.node_names
        else None,
        node_selector=nodes,
    )


def gateway_index(pool: AddressPool) -> int | None:
    """The place of the gateway in each node's prefix, counted from its first address; None without a gateway."""
    if pool.gateway is None:
        return None
    return int(pool.gateway) - int(pool.space.network_address)


def reserved_indexes(pool: AddressPool) -> tuple[tuple[int, int], ...]:
    """Runs of reserved places in each node's prefix or in the pool's space, counted from its first address."""
    begin, end = pool.bounds(0)
    size = end - begin + 1
    first = 0 if size <= 2 else 1
    last = first + hosts_in(size, pool.space.version) - 1
    runs = []
    if pool.reserved_first:
        runs.append((first, first + pool.reserved_first - 1))
    if pool.reserved_last:
        runs.append((last - pool.reserved_last + 1, last))
    return tuple(runs)


def _ranges(pool: AddressPool, runs: Iterable[Run]) -> tuple[ExcludedRange, ...] | None:
    """Runs of addresses in nv-ipam's form; if two of a node overlap, nv-ipam assigns none on that node."""
    version = pool.space.version
    listed = (
        ExcludedRange(start_ip=str(address(version, first)), end_ip=str(address(version, last))) for first, last in runs
    )
    return tuple(listed) or None


def _reserved(pool: AddressPool) -> Iterator[Run]:
    base = int(pool.space.network_address)
    return ((base + first, base + last) for first, last in reserved_indexes(pool))


def _excluded(pool: AddressPool) -> Iterator[Run]:
    return ((int(span.first), int(span.last)) for span in pool.excluded)


def _excluded_from_prefixes(pool: AddressPool) -> Iterator[Run]:
    """The excluded addresses without those reserved in each prefix: nv-ipam gets these as places, and only once.

    Prefixes that are excluded as a whole stay one run, since no node has one of them. No run ends at the first address
    of a prefix in which it does not begin: nv-ipam would cut such a run to one that ends before it begins.
    """
    size = pool.bounds(0)[1] - pool.bounds(0)[0] + 1
    base = int(pool.space.network_address)
    reserved = bool(reserved_indexes(pool))
    for first, last in _excluded(pool):
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
