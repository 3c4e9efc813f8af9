"""The address plan for Spiderpool: a pool per rail, or per node and rail; and the reserved addresses."""

from __future__ import annotations

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.spiderpool import PoolRoute, SpiderIPPool, SpiderIPPoolSpec, SpiderReservedIP, SpiderReservedIPSpec
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.addresses.model import AddressSpace, span_text
from gpu_fabric.plan.records import PlannedObject

# The webhook counts the addresses of a range one by one; larger ranges are only left out of the pools.
_LONGEST_RESERVED = 65536


def pool_objects(addresses: AddressPlan, pool: AddressPool) -> tuple[PlannedObject, ...]:
    """The pool of a rail; with the layout per-node one for each node, bound to the node's name if it is known.

    A pool is named after the node's share number, not its name: the API refuses two pools of one subnet, so a
    replacement node with another name must keep the pool.
    """
    if pool.node_prefix_length is None:
        return (_pool(addresses, pool, pool.name, str(pool.subnet), 0),)
    bound = bool(addresses.node_names)
    (number, name), *others = addresses.numbered_nodes
    first = _pool(
        addresses, pool, node_pool_name(pool, number), pool.share_text(number), number, name if bound else None
    )
    return (first, *(_of_node(first, pool, number, name, bound) for number, name in others))


def reserved_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The addresses that no pool of the cluster may assign: the excluded and, in shared subnets, the reserved ones.

    The reserved ones at the ends of a node's prefix are only left out of its pool: they would need an object per node.
    """
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


def _pool(
    addresses: AddressPlan, pool: AddressPool, name: str, subnet: str, number: int, node: str | None = None
) -> PlannedObject:
    """The pool of a rail, or of a node by its share's number; `node` is the name to which it is bound."""
    gateway = pool.gateway_of(number)
    routed = gateway is not None and pool.node_prefix_length is not None and pool is addresses.pools[0]
    spec = SpiderIPPoolSpec(
        subnet=subnet,
        ip_version=4 if pool.space.version == 4 else 6,
        ips=_ranges(pool, number),
        gateway=None if gateway is None else str(gateway),
        # A pod reaches other nodes' rails on which it has no interface through the first rail, as in the guides.
        routes=(PoolRoute(dst=str(addresses.supernet), gw=str(gateway)),) if routed else None,
        node_name=None if node is None else (node,),
    )
    return PlannedObject(object=SpiderIPPool(metadata=ObjectMeta(name=name), spec=spec), replaced_on=("spec.subnet",))


def _of_node(first: PlannedObject, pool: AddressPool, number: int, name: str, bound: bool) -> PlannedObject:
    """The pool of a further node.

    A large cluster has tens of thousands of these. They differ from the first, validated one only in numbers that the
    plan has proved, so they are not validated again.
    """
    gateway = pool.gateway_of(number)
    template = first.object
    assert isinstance(template, SpiderIPPool), "made by `_pool`"
    routes = template.spec.routes
    spec = template.spec.model_copy(
        update={
            "subnet": pool.share_text(number),
            "ips": _ranges(pool, number),
            "gateway": None if gateway is None else str(gateway),
            "routes": routes and tuple(route.model_copy(update={"gw": str(gateway)}) for route in routes),
            "node_name": (name,) if bound else None,
        }
    )
    metadata = template.metadata.model_copy(update={"name": node_pool_name(pool, number)})
    return first.model_copy(update={"object": template.model_copy(update={"metadata": metadata, "spec": spec})})


def _ranges(pool: AddressPool, number: int) -> tuple[str, ...]:
    """The addresses in Spiderpool's form, merged and sorted: others would differ at every refresh."""
    space = pool.available if pool.node_prefix_length is None else pool.share(number)
    listed = space.slice(0, catalog().address_limits.spiderpool_listed.value)
    return tuple(span_text(pool.space.version, AddressSpace((run,))) for run in listed.runs)
