"""One address plan for every IPAM: the pool objects it needs, and what a network says about it."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_fabric.k8s.cni import Ipam
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.ipam import nv_ipam, spiderpool, whereabouts
from gpu_fabric.plan.records import PlannedObject

__all__ = ["cni_ipam", "node_pools", "pool_objects", "reserved_objects"]


def pool_objects(
    addresses: AddressPlan, namespace: str, node_labels: Mapping[str, str] | None = None
) -> tuple[PlannedObject, ...]:
    """The pools as objects, in rail order; none where the networks or the hosts carry the addresses.

    Pools of which every node has one are not among them but in `node_pools`.

    `namespace` is the one in which nv-ipam looks for pools; Spiderpool's belong to the cluster. `node_labels` tell the
    nodes that nv-ipam gives shares to; without, every node of the cluster gets one.
    """
    if addresses.ipam == "nv-ipam":
        return nv_ipam.pool_objects(addresses, namespace, node_labels or {})
    if addresses.ipam == "spiderpool" and addresses.layout != "per-node":
        return tuple(entry for pool in addresses.pools for entry in spiderpool.pool_objects(addresses, pool))
    return ()


def node_pools(addresses: AddressPlan) -> tuple[tuple[AddressPool, tuple[PlannedObject, ...]], ...]:
    """Every rail with its pools where each node has one of its own; empty where pools are not per node."""
    if addresses.ipam != "spiderpool" or addresses.layout != "per-node":
        return ()
    return tuple((pool, spiderpool.pool_objects(addresses, pool)) for pool in addresses.pools)


def reserved_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """Addresses that an IPAM is told never to give, beside its pools."""
    return spiderpool.reserved_objects(addresses) if addresses.ipam == "spiderpool" else ()


def cni_ipam(addresses: AddressPlan, pool: AddressPool | None) -> Ipam | None:
    """The `ipam` section of a network that takes its addresses from a pool; None where it has none of its own."""
    if pool is None:
        return None
    if addresses.ipam == "nv-ipam":
        return nv_ipam.cni_ipam(pool)
    if addresses.ipam == "whereabouts":
        return whereabouts.cni_ipam(pool)
    return None
