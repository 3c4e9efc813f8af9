"""What is gone with a resource that is deleted or made anew: nodes, their GPUs, and addresses of the fabric."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.model import FrozenModel
from fabric.plan import Plan
from fabric.plan.clouds.oke import PlannedConstruct
from fabric.resources.doks import CLUSTER as DOKS_CLUSTER
from fabric.resources.doks import VPC, pool_name
from fabric.resources.objects import object_name
from fabric.resources.order import CLUSTER
from fabric.resources.resource import Resource
from fabric.resources.wire import oci_type

# Of a construct's records those that hold machines; the others are read when a machine is made.
_HOLDING = frozenset(
    oci_type(f"core.{kind}")
    for kind in ("ClusterNetwork", "ComputeCluster", "ComputeGpuMemoryCluster", "Instance", "InstancePool")
) | {oci_type("containerengine.NodePool")}


class Loss(FrozenModel):
    """What is gone: planned nodes, their GPUs, and the fabric's addresses that those nodes' pods hold."""

    nodes: int = 0
    gpus: int = 0
    addresses: int = 0


def losses(plan: Plan, resources: tuple[Resource, ...]) -> dict[str, Loss]:
    """What each resource takes along, by its name, for those that take something."""
    found = dict(_pools(plan))
    nodes = sum(pool.nodes for pool in plan.cluster.pools)
    gpus = sum(pool.gpus for pool in plan.cluster.pools)
    addresses = sum(pool.needed for pool in plan.addresses.pools)
    whole = Loss(nodes=nodes, gpus=gpus, addresses=addresses)
    doks, oke = plan.cluster.doks, plan.cluster.oke
    if doks is not None:
        planned = {pool.name: pool for pool in plan.cluster.pools}
        found |= {f"{CLUSTER}-{name}": whole for name in (VPC, DOKS_CLUSTER)}
        for pool in doks.pools:
            known = planned[pool.name]
            found[f"{CLUSTER}-{pool_name(pool)}"] = Loss(nodes=known.nodes, gpus=known.gpus)
    if oke is not None:
        vcn = () if oke.network.vcn is None else (oke.network.vcn.logical_name,)
        found |= {f"{CLUSTER}-{name}": whole for name in (*vcn, oke.cluster.logical_name)}
        types = {resource.name: resource.type for resource in resources}
        for construct in oke.pools:
            found |= _construct(plan, construct, types)
    named = {resource.name for resource in resources}
    return {name: loss for name, loss in found.items() if name in named}


def _construct(plan: Plan, construct: PlannedConstruct, types: dict[str, str]) -> dict[str, Loss]:
    """What a GPU pool's records take along: all of its machines, or where each has a record of its own, that one."""
    pool = next(pool for pool in plan.cluster.pools if pool.name == construct.pool)
    names = [f"{CLUSTER}-{record.logical_name}" for record in construct.records]
    holding = [name for name in names if types[name] in _HOLDING]
    machines = [name for name in holding if types[name] == oci_type("core.Instance")]
    each = Loss(nodes=1, gpus=pool.gpus // max(pool.nodes, 1))
    return {name: each if name in machines else Loss(nodes=pool.nodes, gpus=pool.gpus) for name in holding}


def _pools(plan: Plan) -> Iterator[tuple[str, Loss]]:
    """What pools of addresses take along; a group of the pools of single nodes has those of all."""
    of_pool = {pool.name: pool for pool in plan.addresses.pools}
    for planned in plan.ip_pools:
        if (pool := of_pool.get(planned.name)) is not None:
            yield object_name("ip-pools", planned), Loss(addresses=pool.needed)
    for group, pool in zip(plan.node_pools, plan.addresses.pools, strict=False):
        yield f"node-pools-{group.name}", Loss(addresses=pool.needed)
