"""What is gone with a resource that is deleted or made anew: nodes, their GPUs, and addresses of the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.model import FrozenModel
from fabric.plan import Plan
from fabric.plan.clouds.oke import PlannedConstruct
from fabric.plan.plan import PlannedPool
from fabric.resources.doks import CLUSTER as DOKS_CLUSTER
from fabric.resources.doks import VPC, pool_name
from fabric.resources.objects import object_name
from fabric.resources.order import CLUSTER
from fabric.resources.resource import Resource
from fabric.resources.wire import digitalocean_type, oci_type

_OF_ORACLE = frozenset(
    oci_type(f"core.{kind}") for kind in ("ClusterNetwork", "ComputeGpuMemoryCluster", "Instance", "InstancePool")
) | {oci_type("containerengine.NodePool")}

OF_MACHINES = _OF_ORACLE | {digitalocean_type("KubernetesNodePool")}
"""Types whose machines are their own; what else takes nodes along does so when it goes, and never in place."""

# Of a construct's records those that hold machines; the others are read when a machine is made.
_HOLDING = _OF_ORACLE | {oci_type("core.ComputeCluster")}

# Of a pool there are several of these, each with as many machines.
_PARTS = frozenset(oci_type(f"core.{kind}") for kind in ("ComputeGpuMemoryCluster", "Instance"))


class Loss(FrozenModel):
    """What is gone: planned nodes, their GPUs, and the fabric's addresses that those nodes' pods hold.

    A pool that scales by itself counts with the most nodes that it may have; `up_to` says that there may be fewer.
    """

    nodes: int = 0
    gpus: int = 0
    addresses: int = 0
    up_to: bool = False

    def beyond(self, later: Loss) -> Loss:
        """What is there no more where so much is left."""
        nodes, gpus = max(self.nodes - later.nodes, 0), max(self.gpus - later.gpus, 0)
        return Loss(
            nodes=nodes,
            gpus=gpus,
            addresses=max(self.addresses - later.addresses, 0),
            up_to=self.up_to and bool(nodes or gpus),
        )

    def within(self, whole: Loss) -> Loss:
        """No more of it than there is."""
        return Loss(
            nodes=min(self.nodes, whole.nodes),
            gpus=min(self.gpus, whole.gpus),
            addresses=min(self.addresses, whole.addresses),
            up_to=self.up_to,
        )


def together(losses: Iterable[Loss]) -> Loss:
    """Losses of different things, as one."""
    found = list(losses)
    return Loss(
        nodes=sum(loss.nodes for loss in found),
        gpus=sum(loss.gpus for loss in found),
        addresses=sum(loss.addresses for loss in found),
        up_to=any(loss.up_to for loss in found),
    )


def losses(plan: Plan, resources: tuple[Resource, ...]) -> dict[str, Loss]:
    """What each resource takes along, by its name, for those that take something."""
    found = dict(_pools(plan))
    doks, oke = plan.cluster.doks, plan.cluster.oke
    most = {pool.name: pool.max_nodes for pool in (doks.pools if doks is not None else ()) if pool.max_nodes}
    machines = {pool.name: _machines(pool, most.get(pool.name, pool.nodes)) for pool in plan.cluster.pools}
    addresses = Loss(addresses=sum(pool.needed for pool in plan.addresses.pools))
    whole = together((*machines.values(), addresses))
    if doks is not None:
        found |= {f"{CLUSTER}-{name}": whole for name in (VPC, DOKS_CLUSTER)}
        found |= {f"{CLUSTER}-{pool_name(pool)}": machines[pool.name] for pool in doks.pools}
    if oke is not None:
        vcn = () if oke.network.vcn is None else (oke.network.vcn.logical_name,)
        found |= {f"{CLUSTER}-{name}": whole for name in (*vcn, oke.cluster.logical_name)}
        types = {resource.name: resource.type for resource in resources}
        for construct in oke.pools:
            found |= _construct(plan, construct, types)
    named = {resource.name for resource in resources}
    return {name: loss for name, loss in found.items() if name in named}


def _machines(pool: PlannedPool, most: int) -> Loss:
    """A pool's nodes, or the most that it may have."""
    return Loss(nodes=most, gpus=pool.gpus // pool.nodes * most, up_to=most > pool.nodes)


def _construct(plan: Plan, construct: PlannedConstruct, types: dict[str, str]) -> dict[str, Loss]:
    """What a GPU pool's records take along: all of its machines, or where machines or racks have each one, its part."""
    pool = next(pool for pool in plan.cluster.pools if pool.name == construct.pool)
    names = [f"{CLUSTER}-{record.logical_name}" for record in construct.records]
    holding = [name for name in names if types[name] in _HOLDING]
    parts = [name for name in holding if types[name] in _PARTS]
    each = max(len(parts), 1)
    part = Loss(nodes=pool.nodes // each, gpus=pool.gpus // each)
    return {name: part if name in parts else Loss(nodes=pool.nodes, gpus=pool.gpus) for name in holding}


def _pools(plan: Plan) -> Iterator[tuple[str, Loss]]:
    """What pools of addresses take along; a group of the pools of single nodes has those of all."""
    of_pool = {pool.name: pool for pool in plan.addresses.pools}
    for planned in plan.ip_pools:
        if (pool := of_pool.get(planned.name)) is not None:
            yield object_name("ip-pools", planned), Loss(addresses=pool.needed)
    for group, pool in zip(plan.node_pools, plan.addresses.pools, strict=False):
        yield f"node-pools-{group.name}", Loss(addresses=pool.needed)
