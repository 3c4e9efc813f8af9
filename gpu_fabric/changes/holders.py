"""Which node holds which address: the part of an address plan that two plans are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses import AddressPool, binds_shares, number_nodes

_GEOMETRY = (
    "space",
    "subnet",
    "division",
    "gateway_position",
    "reserved_first",
    "reserved_last",
    "excluded",
    "node_prefix_length",
    "addresses_per_node",
)


class Holders(FrozenModel):
    """The part of an address plan that decides which node holds an address; `numbers` are the hosts' own."""

    layout: str = "none"
    ipam: str | None = None
    names: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    nodes: int = 0
    pools: tuple[AddressPool, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Holders:
        """Read the output `addressPlan`, or the proof in a rendered plan.

        Raises KeyError, TypeError or ValueError where the document is not an address plan.
        """
        if not document:
            return cls()
        # Empty and derived values may be missing or present.
        fields = {name: field for name, field in AddressPool.model_fields.items() if name != "shares"}
        pools = (
            # In a document of an earlier version, a later field is missing and has its default.
            {
                name: pool.get(field.alias or name)
                for name, field in fields.items()
                if field.is_required() or pool.get(field.alias or name) is not None
            }
            for pool in document["pools"]
        )
        return cls(
            layout=document["layout"],
            ipam=document.get("ipam"),
            names=tuple(document["nodeNames"]),
            numbers=tuple(document["nodeNumbers"]),
            nodes=document["proof"]["nodes"],
            pools=tuple(map(AddressPool.model_validate, pools)),
        )

    def document(self) -> dict[str, Any]:
        """Write the part of an address plan's document that `of` reads."""
        pools = [pool.model_dump(mode="json", by_alias=True) for pool in self.pools]
        own = {"layout": self.layout, "ipam": self.ipam, "nodeNames": self.names, "nodeNumbers": self.numbers}
        return {**own, "proof": {"nodes": self.nodes}, "pools": pools}

    @property
    def pinned(self) -> bool:
        """Whether each node's share is bound to its name."""
        return binds_shares(self.layout, self.ipam) and bool(self.names)

    @cached_property
    def shares(self) -> dict[str, int]:
        """The number of every node's share, by its name."""
        own = (binds_shares(self.layout, self.ipam) and self.numbers) or range(self.nodes)
        return {name: number for number, name in number_nodes(self.names, own)}

    @cached_property
    def hosts(self) -> dict[str, int]:
        """The number of every host's own address, by its name."""
        return {name: number for number, name in number_nodes(self.names, self.numbers or range(self.nodes))}

    def pool_of(self, rail: int) -> AddressPool | None:
        """The pool that serves a rail."""
        return next((pool for pool in self.pools if rail in pool.rails), None)


def geometry(pool: AddressPool) -> dict[str, Any]:
    """The properties that decide which addresses a share's number has in a pool."""
    return pool.model_dump(mode="json", by_alias=True, include=set(_GEOMETRY), exclude_none=True)


def has_equal_shares(one: AddressPool, other: AddressPool) -> bool:
    """Whether two pools give the same addresses to the same numbers."""
    return all(getattr(one, name) == getattr(other, name) for name in _GEOMETRY)
