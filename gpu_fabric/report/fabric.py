"""The parts of a plan that a drawing of its fabric shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.plan import PlannedPool
from gpu_fabric.plan.rail import Rail


@dataclass(frozen=True)
class NodePlace:
    """A node: its index in the plan's order, its name and its pool."""

    node: int
    name: str
    pool: PlannedPool


@dataclass(frozen=True)
class Fabric:
    """Nodes, rails and addresses; `rails_by_shape` has the NICs of shapes that differ, `shape` names the machines."""

    shape: str
    pools: tuple[PlannedPool, ...]
    rails: tuple[Rail, ...]
    rails_by_shape: Mapping[str, tuple[Rail, ...]]
    addresses: AddressPlan

    @cached_property
    def places(self) -> tuple[NodePlace, ...]:
        """Every node, named as in the stack file, or by pool and number within the pool."""
        owners = [(pool, number) for pool in self.pools for number in range(pool.nodes)]
        names = self.addresses.node_names or tuple(f"{pool.name} {number}" for pool, number in owners)
        return tuple(NodePlace(node, names[node], pool) for node, (pool, _) in enumerate(owners))

    @cached_property
    def place_of(self) -> dict[str, NodePlace]:
        """Every node by its name."""
        return {place.name: place for place in self.places}

    def rails_of(self, place: NodePlace) -> tuple[Rail, ...]:
        """The rails with the NICs of a node."""
        return self.rails_by_shape.get(place.pool.shape, self.rails)

    def address_lines(self, node: int, rail: int) -> Iterator[str]:
        """The first address of a NIC's pod, the node's share on the rail if it is larger, and the host's own."""
        pool = self.addresses.pool_of(rail)
        if pool is None:
            yield "address: not planned here"
            return
        number = self.addresses.numbers[node]
        address, share = self.addresses.nic_address(node, rail), pool.share_text(number)
        yield f"address {address}"
        if share != str(address):
            yield f"the node's share {share}"
        host = pool.host_address(self.addresses.host_numbers[node])
        if host is not None:
            yield f"the host's own {host}"


def fabric_of(plan: Plan) -> Fabric:
    """The fabric of a plan."""
    return Fabric(
        shape=plan.workload.shape,
        pools=plan.cluster.pools,
        rails=plan.rails,
        rails_by_shape={group.shape: group.rails for group in plan.node_groups},
        addresses=plan.addresses,
    )
