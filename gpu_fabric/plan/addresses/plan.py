"""The demand for addresses, and the plan: the addresses of each rail and each node, and the proof that they suffice."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from itertools import accumulate
from typing import Any, Literal

from pydantic import Field, computed_field

from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.addressing import Ipam, Layout
from gpu_fabric.spec.network_types import IPAddress, IPNetwork, Network, Span

Run = tuple[int, int]
"""First and last of a run of consecutive integers, both included."""


@dataclass(frozen=True)
class AddressSpace:
    """Addresses as integers; `runs` are sorted, disjoint and not adjacent."""

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> AddressSpace:
        """The union of runs in any order."""
        merged: list[Run] = []
        for first, last in sorted(run for run in runs if run[0] <= run[1]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @property
    def count(self) -> int:
        """The number of addresses."""
        return sum(last - first + 1 for first, last in self.runs)

    def minus(self, other: AddressSpace) -> AddressSpace:
        """The addresses that are not in the other space."""
        if not other.runs:
            return self
        left: list[Run] = []
        for first, last in self.runs:
            for gap_first, gap_last in other.clipped(first, last).runs:
                if gap_first > first:
                    left.append((first, gap_first - 1))
                first = gap_last + 1
            if first <= last:
                left.append((first, last))
        return AddressSpace(tuple(left))

    def clipped(self, first: int, last: int) -> AddressSpace:
        """The part between two addresses, both included."""
        if first > last:
            return AddressSpace(())
        begin = bisect_left(self.runs, first, key=lambda run: run[1])
        end = bisect_right(self.runs, last, key=lambda run: run[0])
        return AddressSpace(tuple((max(first, low), min(last, high)) for low, high in self.runs[begin:end]))

    def moved(self, offset: int) -> AddressSpace:
        """The addresses of this space, each plus an offset."""
        return AddressSpace(tuple((first + offset, last + offset) for first, last in self.runs))

    def slice(self, start: int, length: int) -> AddressSpace:
        """`length` addresses from the `start`-th on, counted from 0; fewer at the end of the space."""
        taken: list[Run] = []
        place = bisect_right(self._before, start) - 1
        while length and place < len(self.runs):
            first, last = self.runs[place]
            first += start - self._before[place]
            end = min(last, first + length - 1)
            taken.append((first, end))
            length -= end - first + 1
            place += 1
            start = self._before[place]
        return AddressSpace(tuple(taken))

    @cached_property
    def _before(self) -> tuple[int, ...]:
        """The number of addresses before each run, and at the end the number of all."""
        return tuple(accumulate((last - first + 1 for first, last in self.runs), initial=0))


Division = Literal["blocks", "sequence", "prefixes", "hosts"]
"""How a pool is divided among nodes: equal runs of addresses, the next free ones in order, a prefix each, or the
address of each node's own NIC."""


def address(version: int, value: int) -> IPAddress:
    """The address of an integer."""
    return IPv4Address(value) if version == 4 else IPv6Address(value)


def host_run(network: Run, version: int) -> Run:
    """First and last address of a network that hosts and routers can use.

    Point-to-point networks use all (RFC 3021, RFC 6164); IPv6 has no broadcast address, but its first one is the
    routers' anycast address (RFC 4291, section 2.6.1).
    """
    first, last = network
    return network if last - first < 2 else (first + 1, last - (version == 4))


def hosts_in(size: int, version: int) -> int:
    """The number of addresses that hosts and routers can use in a network of that size."""
    first, last = host_run((0, size - 1), version)
    return last - first + 1


def binds_shares(layout: str, ipam: str | None) -> bool:
    """Whether shares follow the numbers of nodes: by a prefix for each, or as they are the hosts' own addresses."""
    return layout == "per-node" or ipam == "host"


class AddressDemand(FrozenModel):
    """The demand for addresses.

    `node_numbers` are the nodes' numbers if they are not 0, 1, 2, …: a pool of nodes may reserve numbers for growth.
    With the layout per-node they number the shares, with others the hosts' own addresses. `addresses_per_nic` is the
    number of pods that one NIC can serve at a time; `names` override the names of rails' pools, and `prefix` is how the
    others begin; `passes_over` is the pool's; `smallest_block` is the smallest block, in addresses, that the IPAM's
    version can assign to a node.
    """

    layout: Layout
    ipam: Ipam
    rails: int
    addresses_per_nic: int
    nodes: int
    node_names: tuple[str, ...] = ()
    node_numbers: tuple[int, ...] = ()
    names: dict[int, str] = {}
    prefix: str = ""
    smallest_block: int = 1
    passes_over: bool = False

    @property
    def hosts(self) -> int:
        """The count of node numbers: those of the nodes, and those reserved between them."""
        return max(self.node_numbers, default=self.nodes - 1) + 1

    @property
    def one_pool(self) -> bool:
        """Whether all rails share one pool. From one pool, Spiderpool gives two NICs of a pod the same address."""
        return self.layout == "flat" and self.ipam != "spiderpool"

    @property
    def needed_per_node(self) -> int:
        """The addresses that a full node needs from one pool."""
        return self.addresses_per_nic * (self.rails if self.one_pool else 1)

    @property
    def division(self) -> Division:
        """How a pool is divided among nodes."""
        if self.ipam == "host":
            return "hosts"
        if self.layout == "per-node":
            return "prefixes"
        return "blocks" if self.ipam == "nv-ipam" else "sequence"

    @property
    def serving(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The pools with their rails; numbers are zero-padded so that text order is rail order."""
        if self.one_pool:
            return ((self.names.get(0, f"{self.prefix}rdma-fabric"), tuple(range(self.rails))),)
        return tuple((self.names.get(rail, f"{self.prefix}rail-{rail:02d}"), (rail,)) for rail in range(self.rails))


class AddressPool(FrozenModel):
    """The addresses of some rails, and each node's share of them. Counts are addresses unless named."""

    name: str = Field(description="name of the pool")
    rails: tuple[int, ...] = Field(description="numbers of the rails that take addresses from it")
    space: Network = Field(description="the pool's part of the supernet, in CIDR notation")
    subnet: Network = Field(
        description="network of a pod's interface, in CIDR notation; wider than `space` only if the rails of a flat "
        "fabric share one"
    )
    division: Division = Field(
        description="`blocks`: each node has a run of addresses; `sequence`: the next free ones; `prefixes`: a prefix "
        "of its own, which is then its subnet; `hosts`: one address, which the node's own NIC has"
    )
    gateway_position: Literal["none", "first", "last"] = Field(
        description="which host address of the subnet (`prefixes`: of each node's prefix) is a router"
    )
    reserved_first: int = Field(
        description="addresses that stay free at the start of the subnet (`prefixes`: of each node's prefix)"
    )
    reserved_last: int = Field(description="addresses that stay free at the end of the same")
    excluded: tuple[Span, ...] = Field(
        description="addresses that hosts or switches hold, merged and in order: an address, or a range first-last"
    )
    node_prefix_length: int | None = Field(description="prefix length of each node's share, with `prefixes`")
    addresses_per_node: int = Field(description="addresses of each node's share")
    passes_over: bool = Field(
        default=False,
        description="whether the IPAM skips a block that is wholly excluded, or that is only the gateway's address",
    )
    usable: int = Field(
        default=0, description="addresses without those of the network, broadcast, gateway, reserved and excluded ones"
    )
    needed: int = Field(default=0, description="addresses of the shares of all planned, spare and surge nodes")
    max_nodes: int = Field(default=0, description="most nodes that the pool can serve")
    shares: tuple[str, ...] = Field(
        default=(),
        repr=False,
        description="prefix or addresses of each planned node's pods, in node order; empty unless they are asked for",
    )

    @property
    def in_turn(self) -> bool:
        """Whether nodes get the next free addresses; blocks of one address do so if the IPAM skips unusable blocks."""
        single = self.division == "blocks" and self.addresses_per_node == 1
        return self.division in ("sequence", "hosts") or (single and self.passes_over)

    def altered(self, **changes: Any) -> AddressPool:
        """The pool with other fields; unlike `model_copy`, no cached value of the old fields is kept."""
        return AddressPool.model_construct(
            **{name: changes.get(name, getattr(self, name)) for name in AddressPool.model_fields}
        )

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented form
    @property
    def headroom(self) -> int:
        """The usable addresses that stay free."""
        return self.usable - self.needed

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented form
    @property
    def gateway(self) -> IPAddress | None:
        """The router of the subnet; with division `prefixes` the first node's."""
        return self.gateway_of(0)

    def gateway_of(self, node: int) -> IPAddress | None:
        """The router that a node's pods use."""
        return None if self._router is None else address(self.space.version, self._router + self._offset(node))

    def node_prefix(self, node: int) -> IPNetwork | None:
        """The node's own prefix; None if nodes share the subnet."""
        if self.node_prefix_length is None:
            return None
        return type(self.space)((self.bounds(node)[0], self.node_prefix_length))

    def bounds(self, node: int) -> Run:
        """First and last address of a node's network: its prefix, or the pool's space."""
        first = int(self.space.network_address) + self._offset(node)
        return first, first + self._size - 1

    @property
    def hosts(self) -> Run:
        """First and last address that hosts and routers can use, of the shared subnet or the first node's prefix."""
        return host_run(self.bounds(0), self.space.version)

    @cached_property
    def available(self) -> AddressSpace:
        """The assignable addresses of a shared subnet."""
        return self._unfixed.minus(self._excluded)

    def share(self, node: int) -> AddressSpace:
        """The addresses that the node's pods may use."""
        if self.division == "prefixes":
            return self._unfixed.moved(self._offset(node)).minus(self._excluded)
        if self.in_turn:
            return self.available.slice(node * self.addresses_per_node, self.addresses_per_node)
        first = int(self.space.network_address) + 1 + node * self.addresses_per_node
        return self.available.clipped(first, first + self.addresses_per_node - 1)

    def host_address(self, node: int) -> IPAddress | None:
        """The address of the host's own NIC on a node; None if the plan reserves none for it.

        With division `hosts` it is the node's share. Otherwise hosts use the reserved addresses: those at the start,
        after a router, or those at the end, before it. With a prefix per node it is the first of them, in a shared
        subnet the n-th for the n-th node.
        """
        if self.division == "hosts":
            runs = self.share(node).runs
            return address(self.space.version, runs[0][0]) if runs else None
        begin, end = self._of_hosts
        if self.division != "prefixes":
            begin += node
        return address(self.space.version, begin + self._offset(node)) if begin <= end else None

    def share_text(self, node: int) -> str:
        """A node's prefix, or the addresses that its pods may use, as text."""
        if self.node_prefix_length is None:
            return span_text(self.space.version, self.share(node))
        return f"{address(self.space.version, self.bounds(node)[0])}/{self.node_prefix_length}"

    # The following is about the shared subnet or the first node's prefix. Prefixes of other nodes differ in their start
    # only, and there are tens of thousands of them.

    @cached_property
    def _size(self) -> int:
        length = self.space.prefixlen if self.node_prefix_length is None else self.node_prefix_length
        return 1 << (self.space.max_prefixlen - length)

    def _offset(self, node: int) -> int:
        """The offset of a node's addresses from the first node's."""
        return 0 if self.node_prefix_length is None else node * self._size

    @cached_property
    def _router(self) -> int | None:
        if self.gateway_position == "none":
            return None
        shared = (int(self.subnet.network_address), int(self.subnet.broadcast_address))
        first, last = host_run(shared if self.node_prefix_length is None else self.bounds(0), self.space.version)
        return first if self.gateway_position == "first" else last

    @cached_property
    def _unfixed(self) -> AddressSpace:
        """The addresses except the reserved ones and the router's."""
        first, last = self.hosts
        kept = AddressSpace.of([(first + self.reserved_first, last - self.reserved_last)])
        return kept if self._router is None else kept.minus(AddressSpace(((self._router, self._router),)))

    @cached_property
    def _of_hosts(self) -> Run:
        """First and last address of the hosts; the last is before the first if there are none."""
        first, last = self.hosts
        routers = {position: self.gateway_position == position for position in ("first", "last")}
        if self.reserved_first > routers["first"]:
            return first + routers["first"], first + self.reserved_first - 1
        return last - self.reserved_last + 1, last - routers["last"]

    @cached_property
    def _excluded(self) -> AddressSpace:
        return AddressSpace.of((int(span.first), int(span.last)) for span in self.excluded)


class RangeInUse(FrozenModel):
    """A range that the fabric was proved not to touch."""

    name: str = Field(description="what uses the range, such as pods")
    range: Network = Field(description="the range in CIDR notation")


class Limit(FrozenModel):
    """A limit outside of the address space that the plan must meet."""

    name: str = Field(description="what is limited")
    value: int = Field(description="how many the plan has")
    limit: int = Field(description="how many there may be")
    unit: str = Field(description="what is counted")
    nodes: int = Field(description="number of nodes that the limit allows")
    source: str = Field(description="where the limit is documented")


class Growth(FrozenModel):
    """How far the fabric can grow without a change of addresses in use."""

    step: int = Field(description="nodes that are added at a time")
    steps: int = Field(description="how many times they can be added")
    max_nodes: int = Field(description="most nodes, GPU nodes of all pools")
    ends_at: str = Field(description="the limit that ends the growth")
    next_subnet: str = Field(
        description="prefix length of a pool for more nodes; empty if no address range can be that large"
    )
    next_supernet: str = Field(
        description="prefix length of the smallest supernet with such a pool for every rail slot; empty as before"
    )


class CapacityProof(FrozenModel):
    """The proof that the addresses suffice, and touch no range in use."""

    nodes: int = Field(description="planned GPU nodes, with numbers that are reserved between them")
    spare_nodes: int = Field(description="nodes that addresses are kept for beyond the pools' own")
    surge_nodes: int = Field(description="nodes that may exist besides while others are replaced")
    needed_per_node: int = Field(description="addresses that a full node needs from each pool")
    growth: Growth = Field(description="how far the fabric can grow")
    limits: tuple[Limit, ...] = Field(description="further limits that the plan meets")
    disjoint_from: tuple[RangeInUse, ...] = Field(description="ranges that no address of the fabric is in")
    not_stated: tuple[str, ...] = Field(description="ranges of the cluster that were not stated, and so not checked")

    @property
    def wanted(self) -> int:
        """Nodes that must have addresses at the same time."""
        return self.nodes + self.spare_nodes + self.surge_nodes


class AddressPlan(FrozenModel):
    """All fabric addresses, and the proof that they suffice."""

    layout: Layout = Field(
        description="`none`: no addresses; `flat`: one pool for all rails; `per-rail`: a pool each; `per-node`: a "
        "prefix for every node and rail"
    )
    ipam: Ipam | None = Field(description="what assigns the addresses")
    supernet: Network | None = Field(description="the range that all addresses come from, in CIDR notation")
    addresses_per_nic: int = Field(description="addresses that the pods of one NIC need")
    node_names: tuple[str, ...] = Field(description="names of the nodes, where they are stated")
    node_numbers: tuple[int, ...] = Field(
        description="numbers of the nodes' shares or, in a shared subnet, of the hosts' addresses, in the order of the "
        "pools of nodes; empty if they count up from 0"
    )
    pools: tuple[AddressPool, ...] = Field(description="the pools; none with the layout `none`")
    proof: CapacityProof = Field(description="the proof that they suffice")

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> AddressPlan:
        """Read a plan that was written as JSON, without the values of pools that follow from others.

        Raises KeyError, TypeError or ValueError where the document is not an address plan.
        """
        derived = AddressPool.model_computed_fields
        pools = [{key: value for key, value in pool.items() if key not in derived} for pool in document["pools"]]
        return cls.model_validate({**document, "pools": pools})

    def pool_of(self, rail: int) -> AddressPool | None:
        """The pool of a rail; None if the layout gives no addresses."""
        return next((pool for pool in self.pools if rail in pool.rails), None)

    def nic_address(self, node: int, rail: int) -> IPAddress | None:
        """The first planned address of the pod on the n-th node's NIC; None without addresses.

        At run time the IPAM chooses the address of a pod from the node's share; full-node pods get them in this order.
        """
        pool = self.pool_of(rail)
        if pool is None:
            return None
        position = pool.rails.index(rail) * self.addresses_per_nic
        run = pool.share(self.numbers[node]).slice(position, 1).runs
        return address(pool.space.version, run[0][0]) if run else None

    @property
    def numbers(self) -> Sequence[int]:
        """The share number of every planned node; in a shared subnet an IPAM numbers them without gaps."""
        return (binds_shares(self.layout, self.ipam) and self.node_numbers) or range(self.proof.nodes)

    @property
    def host_numbers(self) -> Sequence[int]:
        """The number of every planned node's own address, for `AddressPool.host_address`."""
        return self.node_numbers or range(self.proof.nodes)

    @cached_property
    def numbered_nodes(self) -> tuple[tuple[int, str], ...]:
        """Share number and name of every planned node; see `numbered`."""
        return number_nodes(self.node_names, self.numbers)

    def with_shares(self) -> AddressPlan:
        """The plan with an entry for every node in every pool; time and size grow with their number."""
        listed = (pool.altered(shares=tuple(map(pool.share_text, self.numbers))) for pool in self.pools)
        return self.model_copy(update={"pools": tuple(listed)})


def number_nodes(names: Sequence[str], numbers: Sequence[int]) -> tuple[tuple[int, str], ...]:
    """Share number and name of every node; without names, zero-padded numbers."""
    return tuple(zip(numbers, names or (f"node-{number:04d}" for number in numbers), strict=True))


def span_text(version: int, space: AddressSpace) -> str:
    """`10.0.0.1-10.0.0.4` or `10.0.0.1`; several runs with commas."""
    return ",".join(
        str(address(version, first)) if first == last else f"{address(version, first)}-{address(version, last)}"
        for first, last in space.runs
    )
