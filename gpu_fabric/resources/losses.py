"""Losses when a resource is deleted or replaced: nodes, their GPUs, and addresses of the fabric."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.contract.cluster import OtherNodes
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.plan import PlannedCluster, PlannedPool
from gpu_fabric.plan.records import PlannedGroup
from gpu_fabric.resources.cloud import wire_type
from gpu_fabric.resources.objects import object_name
from gpu_fabric.resources.order import CLUSTER
from gpu_fabric.resources.resource import Resource

if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.oke.resources import PlannedConstruct
    from gpu_fabric.plan.clouds.record import Record

_OF_ORACLE = frozenset(
    wire_type(f"core.{kind}") for kind in ("ClusterNetwork", "ComputeGpuMemoryCluster", "Instance", "InstancePool")
) | {wire_type("containerengine.NodePool")}

OF_MACHINES = _OF_ORACLE | {wire_type("digitalocean.KubernetesNodePool")}
"""Types that own machines. Other types lose nodes only when they are deleted, never by an update in place."""

# Records of a construct that hold machines; the others are read only when a machine is created.
_HOLDING = _OF_ORACLE | {wire_type("core.ComputeCluster")}

# A pool has several of these records, each with the same number of machines.
_PARTS = frozenset(wire_type(f"core.{kind}") for kind in ("ComputeGpuMemoryCluster", "Instance"))


class Loss(FrozenModel):
    """Lost nodes, their GPUs, and the fabric's addresses that pods on these nodes hold.

    A pool with automatic scaling counts with its maximum of nodes; `up_to` marks that there may be fewer. Nodes that
    are `beside` the fabric take none of its networks with them.
    """

    nodes: int = 0
    gpus: int = 0
    addresses: int = 0
    up_to: bool = False
    beside: bool = Field(default=False, exclude_if=operator.not_)

    def __str__(self) -> str:
        """The number of nodes, GPUs and addresses that are lost; empty where none is."""
        words = []
        if self.nodes or self.gpus:
            most = "up to " if self.up_to else ""
            words.append(f"{most}{quantity(self.nodes, 'node')} with {quantity(self.gpus, 'GPU')}")
        if self.addresses:
            words.append(f"{quantity(self.addresses, 'address')} of the fabric")
        return ", ".join(words)

    def beyond(self, later: Loss) -> Loss:
        """The part of this loss that exceeds `later`."""
        nodes, gpus = max(self.nodes - later.nodes, 0), max(self.gpus - later.gpus, 0)
        return Loss(
            nodes=nodes,
            gpus=gpus,
            addresses=max(self.addresses - later.addresses, 0),
            up_to=self.up_to and bool(nodes or gpus),
            beside=self.beside and bool(nodes or gpus),
        )

    def within(self, whole: Loss) -> Loss:
        """This loss, limited to `whole`."""
        return Loss(
            nodes=min(self.nodes, whole.nodes),
            gpus=min(self.gpus, whole.gpus),
            addresses=min(self.addresses, whole.addresses),
            up_to=self.up_to,
            beside=self.beside,
        )


def together(losses: Iterable[Loss]) -> Loss:
    """The sum of losses."""
    found = list(losses)
    return Loss(
        nodes=sum(loss.nodes for loss in found),
        gpus=sum(loss.gpus for loss in found),
        addresses=sum(loss.addresses for loss in found),
        up_to=any(loss.up_to for loss in found),
    )


def losses(plan: Plan, resources: tuple[Resource, ...]) -> dict[str, Loss]:
    """The loss with each resource, by the resource's name; resources without a loss are left out."""
    found = dict(_pools(plan))
    doks, oke = plan.cluster.doks, plan.cluster.oke
    most = {pool.name: pool.max_nodes for pool in (doks.pools if doks is not None else ()) if pool.max_nodes}
    machines = {pool.name: _machines(pool, most.get(pool.name, pool.nodes)) for pool in plan.cluster.pools}
    planned = [pool for fabric in plan.by_fabric.values() for pool in fabric.addresses.pools]
    addresses = Loss(addresses=sum(pool.needed for pool in planned))
    beside = {nodes.name: _beside(nodes) for nodes in plan.cluster.other_pools}
    if oke is not None:
        machines |= {
            pool.name: _machines(pool, each.most_nodes)
            for pool, each in zip(plan.cluster.pools, oke.pools, strict=True)
        }
    whole = together((*machines.values(), *beside.values(), addresses))
    for record in _whole(plan.cluster):
        found[f"{CLUSTER}-{record.logical_name}"] = whole
    if doks is not None:
        found |= {f"{CLUSTER}-{pool.logical_name}": machines[pool.name] for pool in doks.pools}
    found |= {f"{CLUSTER}-pool-{name}": loss for name, loss in beside.items()}
    if oke is not None:
        types = {resource.name: resource.type for resource in resources}
        for construct in oke.pools:
            found |= _construct(plan, construct, types)
    named = {resource.name for resource in resources}
    return {name: loss for name, loss in found.items() if name in named}


def _whole(cluster: PlannedCluster) -> Iterator[Record]:
    """The records whose deletion loses everything: the cluster and its network."""
    if cluster.doks is not None and cluster.doks.vpc is not None:
        yield cluster.doks.vpc
    if cluster.oke is not None and cluster.oke.network.vcn is not None:
        yield cluster.oke.network.vcn
    if cluster.cloud is not None:
        yield cluster.cloud.cluster


def _machines(pool: PlannedPool, most: int) -> Loss:
    return Loss(nodes=most, gpus=pool.gpus // pool.nodes * most, up_to=most > pool.nodes)


def _beside(nodes: OtherNodes) -> Loss:
    return Loss(
        nodes=nodes.most_nodes,
        gpus=nodes.gpus_per_node * nodes.most_nodes,
        up_to=nodes.most_nodes > nodes.nodes,
        beside=nodes.most_nodes > 0,
    )


def _construct(plan: Plan, construct: PlannedConstruct, types: dict[str, str]) -> dict[str, Loss]:
    """The loss with each record of a GPU pool: all machines, or one part where each machine or rack has a record."""
    pool = next(pool for pool in plan.cluster.pools if pool.name == construct.pool)
    names = [f"{CLUSTER}-{record.logical_name}" for record in construct.records]
    holding = [name for name in names if types[name] in _HOLDING]
    parts = [name for name in holding if types[name] in _PARTS]
    each = max(len(parts), 1)
    part = Loss(nodes=pool.nodes // each, gpus=pool.gpus // each)
    return {name: part if name in parts else _machines(pool, construct.most_nodes) for name in holding}


def _pools(plan: Plan) -> Iterator[tuple[str, Loss]]:
    """The loss with each address pool; a group of pools of single nodes counts as one."""
    of_pool = {pool.name: pool for fabric in plan.by_fabric.values() for pool in fabric.addresses.pools}
    for planned in plan.applied("ip-pools"):
        if (pool := of_pool.get(planned.name)) is not None:
            yield object_name("ip-pools", planned), Loss(addresses=pool.needed)
    for group, pool in zip(plan.records(PlannedGroup, "node-pools"), plan.addresses.pools, strict=False):
        yield f"node-pools-{group.name}", Loss(addresses=pool.needed)
