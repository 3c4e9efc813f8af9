"""The address plan for Spiderpool: a pool a rail, or a pool for every node and rail."""

from __future__ import annotations

from fabric.catalog import catalog
from fabric.k8s.base import ObjectMeta
from fabric.k8s.spiderpool import SpiderIPPool, SpiderIPPoolSpec
from fabric.plan.addresses import AddressPlan, AddressPool
from fabric.plan.addresses.model import span_text
from fabric.plan.addresses.space import AddressSpace
from fabric.plan.records import PlannedObject


def pool_objects(addresses: AddressPlan) -> tuple[PlannedObject, ...]:
    """The pools, rail by rail; with the layout per-node one for each node, bound to it by name where it is known."""
    return tuple(planned for pool in addresses.pools for planned in _objects(pool, addresses))


def pool_pattern(pool: AddressPool) -> str:
    """How a network names its pool, or the pools of all nodes: the dash keeps rail-1 from matching rail-10."""
    return pool.name if pool.node_prefix_length is None else f"{pool.name}-*"


def node_pool_name(pool: AddressPool, node: str) -> str:
    """The name of a node's pool."""
    return f"{pool.name}-{node}"


def _objects(pool: AddressPool, addresses: AddressPlan) -> list[PlannedObject]:
    if pool.node_prefix_length is None:
        return [_pool(pool, pool.name, str(pool.subnet), 0)]
    bound = bool(addresses.node_names)
    (number, name), *others = addresses.numbered_nodes
    first = _pool(pool, node_pool_name(pool, name), pool.share_text(number), number, name if bound else None)
    return [first, *(_of_node(first, pool, number, name, bound) for number, name in others)]


def _pool(pool: AddressPool, name: str, subnet: str, number: int, node: str | None = None) -> PlannedObject:
    """The pool of a rail, or of a node by its share's number; `node` is the one that it is bound to."""
    gateway = pool.gateway_of(number)
    spec = SpiderIPPoolSpec(
        subnet=subnet,
        ip_version=4 if pool.space.version == 4 else 6,
        ips=_ranges(pool, number),
        gateway=None if gateway is None else str(gateway),
        node_name=None if node is None else (node,),
    )
    return PlannedObject(object=SpiderIPPool(metadata=ObjectMeta(name=name), spec=spec))


def _of_node(first: PlannedObject, pool: AddressPool, number: int, name: str, bound: bool) -> PlannedObject:
    """The pool of a further node.

    A large cluster has tens of thousands of these. They differ from the first, which was validated, in numbers alone,
    and the plan has proved those; so they are not validated once more.
    """
    gateway = pool.gateway_of(number)
    template = first.object
    assert isinstance(template, SpiderIPPool), "made by `_pool`"
    spec = template.spec.model_copy(
        update={
            "subnet": pool.share_text(number),
            "ips": _ranges(pool, number),
            "gateway": None if gateway is None else str(gateway),
            "node_name": (name,) if bound else None,
        }
    )
    metadata = template.metadata.model_copy(update={"name": node_pool_name(pool, name)})
    return first.model_copy(update={"object": template.model_copy(update={"metadata": metadata, "spec": spec})})


def _ranges(pool: AddressPool, number: int) -> tuple[str, ...]:
    """The addresses as Spiderpool writes them: merged and sorted, or every refresh would show a difference."""
    space = pool.available if pool.node_prefix_length is None else pool.share(number)
    listed = space.slice(0, catalog().address_limits.spiderpool_listed.value)
    return tuple(span_text(pool.space.version, AddressSpace((run,))) for run in listed.runs)
