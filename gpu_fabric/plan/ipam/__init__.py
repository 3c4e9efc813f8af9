"""The address plan in the form of each IPAM: its pool objects, and the `ipam` section of a network."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import summarize_address_range
from itertools import pairwise

from gpu_fabric.k8s.cni import Ipam
from gpu_fabric.k8s.whereabouts import Whereabouts
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.addresses.model import address
from gpu_fabric.plan.ipam import nv_ipam, spiderpool
from gpu_fabric.plan.records import PlannedObject

__all__ = ["cni_ipam", "node_pools", "pool_objects", "reserved_objects"]


def pool_objects(
    addresses: AddressPlan, namespace: str, node_labels: Mapping[str, str] | None = None
) -> tuple[PlannedObject, ...]:
    """The pools as objects, in rail order; none where the networks or the hosts carry the addresses.

    Pools per node are in `node_pools`. nv-ipam looks for pools in `namespace`; Spiderpool's pools
    are cluster-scoped. `node_labels` select the nodes to which nv-ipam gives shares; without labels, all nodes.
    """
    if addresses.ipam == "nv-ipam":
        return nv_ipam.pool_objects(addresses, namespace, node_labels or {})
    if addresses.ipam == "spiderpool" and addresses.layout != "per-node":
        return tuple(entry for pool in addresses.pools for entry in spiderpool.pool_objects(addresses, pool))
    return ()


def node_pools(addresses: AddressPlan) -> tuple[tuple[AddressPool, tuple[PlannedObject, ...]], ...]:
    """Every rail with its pools, one per node; empty where pools are not per node."""
    if addresses.ipam != "spiderpool" or addresses.layout != "per-node":
        return ()
    return tuple((pool, spiderpool.pool_objects(addresses, pool)) for pool in addresses.pools)


def reserved_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The objects, beside the pools, with addresses that an IPAM must never assign."""
    return spiderpool.reserved_objects(addresses) if addresses.ipam == "spiderpool" else ()


def cni_ipam(addresses: AddressPlan, pool: AddressPool | None) -> Ipam | None:
    """The `ipam` section of a network that takes its addresses from a pool; None if the network needs no section."""
    if pool is None:
        return None
    if addresses.ipam == "nv-ipam":
        return nv_ipam.cni_ipam(pool)
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
