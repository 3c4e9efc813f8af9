"""The address plan for Spiderpool: a pool a rail, or a pool for every node and rail."""

from __future__ import annotations

from fabric.k8s.base import ObjectMeta
from fabric.k8s.spiderpool import SpiderIPPool, SpiderIPPoolSpec
from fabric.plan.addresses import AddressPlan, AddressPool
from fabric.plan.addresses.model import span_text
from fabric.plan.addresses.space import AddressSpace
from fabric.plan.records import PlannedObject

# Spiderpool's webhook enumerates a pool's addresses one by one.
_MOST_ADDRESSES = 65_536


def pool_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The pools, rail by rail; with the layout per-node one for each node, bound to it by name where it is known."""
    return tuple(planned for pool in addresses.pools for planned in _objects(pool, addresses))


def pool_pattern(pool: AddressPool) -> str:
    """How a network names its pool, or the pools of all nodes: the dash keeps rail-1 from matching rail-10."""
    return pool.name if pool.node_prefix_length is None else f"{pool.name}-*"


def node_pool_name(pool: AddressPool, node: int, node_names: tuple[str, ...]) -> str:
    """The name of a node's pool; numbers are zero-padded so that text order is node order."""
    return f"{pool.name}-{node_names[node] if node_names else f'node-{node:04d}'}"


def _objects(pool: AddressPool, addresses: AddressPlan) -> list[PlannedObject]:
    first = _pool(pool, addresses.node_names)
    if pool.node_prefix_length is None:
        return [first]
    further = range(1, addresses.proof.nodes)
    return [first, *(_of_node(first, pool, node, addresses.node_names) for node in further)]


def _pool(pool: AddressPool, names: tuple[str, ...]) -> PlannedObject:
    """The pool of a rail, or of its first node."""
    own = pool.node_prefix_length is not None
    spec = SpiderIPPoolSpec(
        subnet=str(pool.node_prefix(0) if own else pool.subnet),
        ip_version=4 if pool.space.version == 4 else 6,
        ips=_ranges(pool, 0),
        gateway=None if pool.gateway is None else str(pool.gateway),
        node_name=names[:1] if own and names else None,
    )
    name = node_pool_name(pool, 0, names) if own else pool.name
    return PlannedObject(object=SpiderIPPool(metadata=ObjectMeta(name=name), spec=spec))


def _of_node(first: PlannedObject, pool: AddressPool, node: int, names: tuple[str, ...]) -> PlannedObject:
    """The pool of a further node.

    A large cluster has tens of thousands of these. They differ from the first, which was validated, in numbers alone,
    and the plan has proved those; so they are not validated once more.
    """
    gateway = pool.gateway_of(node)
    template = first.object
    assert isinstance(template, SpiderIPPool), "made by `_pool`"
    spec = template.spec.model_copy(
        update={
            "subnet": pool.share_text(node),
            "ips": _ranges(pool, node),
            "gateway": None if gateway is None else str(gateway),
            "node_name": names[node : node + 1] or None,
        }
    )
    metadata = template.metadata.model_copy(update={"name": node_pool_name(pool, node, names)})
    return first.model_copy(update={"object": template.model_copy(update={"metadata": metadata, "spec": spec})})


def _ranges(pool: AddressPool, node: int) -> tuple[str, ...]:
    """The addresses as Spiderpool writes them: merged and sorted, or every refresh would show a difference."""
    space = pool.available if pool.node_prefix_length is None else pool.share(node)
    return tuple(span_text(pool.space.version, AddressSpace((run,))) for run in space.slice(0, _MOST_ADDRESSES).runs)
