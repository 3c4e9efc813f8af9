"""The address plan for NVIDIA's IPAM: an IPPool where nodes share a subnet, a CIDRPool where each has its own."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.k8s.base import ObjectMeta
from fabric.k8s.cni_config import NvIpam
from fabric.k8s.nv_ipam import (
    CIDRPool,
    CIDRPoolSpec,
    ExcludedIndexes,
    ExcludedRange,
    IPPool,
    IPPoolSpec,
    StaticAllocation,
)
from fabric.k8s.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from fabric.plan.addresses import AddressPlan, AddressPool
from fabric.plan.addresses.demand import hosts_in
from fabric.plan.addresses.model import address
from fabric.plan.records import PlannedObject


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
    """The nodes that carry all labels; None where none are given, which means every node of the cluster."""
    if not labels:
        return None
    has = (NodeSelectorRequirement(key=key, operator="In", values=(text,)) for key, text in sorted(labels.items()))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=tuple(has)),))


def _shared(pool: AddressPool, nodes: NodeSelector | None) -> IPPoolSpec:
    return IPPoolSpec(
        subnet=str(pool.subnet),
        per_node_block_size=pool.addresses_per_node,
        gateway=None if pool.gateway is None else str(pool.gateway),
        exclusions=(*_reserved(pool), *_excluded(pool)) or None,
        node_selector=nodes,
    )


def _own_prefixes(pool: AddressPool, prefix: int, nodes: NodeSelector | None, addresses: AddressPlan) -> CIDRPoolSpec:
    return CIDRPoolSpec(
        cidr=str(pool.space),
        per_node_network_prefix=prefix,
        gateway_index=gateway_index(pool),
        exclusions=_excluded(pool) or None,
        per_node_exclusions=tuple(
            ExcludedIndexes(start_index=first, end_index=last) for first, last in reserved_indexes(pool)
        )
        or None,
        # Without names nv-ipam itself hands the prefixes out, in order.
        static_allocations=tuple(
            StaticAllocation(prefix=str(pool.node_prefix(number)), node_name=name)
            for number, name in addresses.numbered_nodes
        )
        if addresses.node_names
        else None,
        node_selector=nodes,
    )


def gateway_index(pool: AddressPool) -> int | None:
    """Place of the gateway in each node's prefix, counted from its first address; None without one."""
    if pool.gateway is None:
        return None
    return int(pool.gateway) - int(pool.space.network_address)


def reserved_indexes(pool: AddressPool) -> tuple[tuple[int, int], ...]:
    """Runs of reserved places in each node's prefix, counted from its first address."""
    size = 1 << (pool.space.max_prefixlen - (pool.node_prefix_length or 0))
    first = 0 if size <= 2 else 1
    last = first + hosts_in(size, pool.space.version) - 1
    runs = []
    if pool.reserved_first:
        runs.append((first, first + pool.reserved_first - 1))
    if pool.reserved_last:
        runs.append((last - pool.reserved_last + 1, last))
    return tuple(runs)


def _reserved(pool: AddressPool) -> tuple[ExcludedRange, ...]:
    start = int(pool.space.network_address) + 1
    end = start + hosts_in(pool.space.num_addresses, pool.space.version) - 1
    runs = []
    if pool.reserved_first:
        runs.append((start, start + pool.reserved_first - 1))
    if pool.reserved_last:
        runs.append((end - pool.reserved_last + 1, end))
    version = pool.space.version
    return tuple(
        ExcludedRange(start_ip=str(address(version, first)), end_ip=str(address(version, last))) for first, last in runs
    )


def _excluded(pool: AddressPool) -> tuple[ExcludedRange, ...]:
    return tuple(ExcludedRange(start_ip=str(span.first), end_ip=str(span.last)) for span in pool.excluded)
