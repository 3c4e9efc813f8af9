"""Holds an address plan against its stack file by brute force, sharing no code with the planner.

A plan comes as the JSON of `AddressPlan` (camelCase), the stack file as its sections `addressing` and `ranges`. Every
function returns sentences about what is wrong; an empty list is the proof. Addresses are integers, runs of them pairs
with both ends included.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from address_runs import Net, Runs, ends, hosts, less, merged, runs_of, size, span, within

Json = Mapping[str, Any]

# Pools of up to this many addresses are checked address by address; larger ones by their runs.
COUNTED_ONE_BY_ONE = 1 << 14


class Counts(NamedTuple):
    """A pool's numbers, counted: nodes that must be served and nodes that are, addresses usable and given away."""

    wanted: int
    most: int
    usable: int
    taken: int


class Pool:
    """One pool of a plan, with what the stack file says about it."""

    def __init__(self, pool: Json, addressing: Json, needed_per_node: int, ipam: str | None) -> None:
        self.name, self.rails, self.division = pool["name"], pool["rails"], pool["division"]
        space = ipaddress.ip_network(pool["space"])
        self.version, self.cut = space.version, space.prefixlen
        self.space, self.subnet = ends(space), ends(ipaddress.ip_network(pool["subnet"]))
        self.length: int | None = pool["nodePrefixLength"]
        # Of single addresses nv-ipam gives the next one that is neither excluded nor the gateway, since 0.4.0.
        self.passes_over = bool(pool.get("passesOver"))
        if self.passes_over and self.division == "blocks" and pool["addressesPerNode"] == 1:
            self.division = "sequence"
        if self.division == "hosts":
            self.division = "sequence"
        self.bits = space.max_prefixlen - (self.length or 0)
        self.each: int = pool["addressesPerNode"]
        self.shares: list[str] = pool["shares"]
        self.claims = {name: pool[name] for name in ("usable", "needed", "maxNodes")}
        self.need = needed_per_node
        self.router: str = addressing.get("gateway", "none")
        self.kept = (addressing.get("reservedFirst", 0), addressing.get("reservedLast", 0))
        self.excluded = [span(text) for text in addressing.get("exclude", ()) if (":" in text) == (self.version == 6)]
        if ipam == "whereabouts" and self.version == 6:
            # Whereabouts takes it for a broadcast address, which IPv6 does not have.
            self.excluded.append((self.subnet[1], self.subnet[1]))

    @property
    def size(self) -> int:
        """Addresses of the pool's part of the supernet."""
        return self.space[1] - self.space[0] + 1

    def gateway(self, network: tuple[int, int]) -> int | None:
        """The router of a network."""
        return {"none": None, "first": hosts(network, self.version)[0], "last": hosts(network, self.version)[1]}[
            self.router
        ]

    def prefix(self, node: int) -> tuple[int, int]:
        """The ends of the node's own network."""
        assert self.length is not None
        first = self.space[0] + (node << self.bits)
        return first, first + (1 << self.bits) - 1

    def free(self, network: tuple[int, int], router: int | None) -> Runs:
        """What may be handed out in a network."""
        first, last = hosts(network, self.version)
        first, last = first + self.kept[0], last - self.kept[1]
        taken = self.excluded if router is None else [*self.excluded, (router, router)]
        return less([(first, last)] if first <= last else [], taken)

    @cached_property
    def shared(self) -> Runs:
        """What may be handed out where nodes share the pool."""
        return self.free(self.space, self.gateway(self.subnet))

    def share(self, node: int) -> Runs:
        """The addresses of a node, from the text of its share."""
        if self.length is None:
            return runs_of(self.shares[node])
        own = ends(ipaddress.ip_network(self.shares[node]))
        return self.free(own, self.gateway(own))

    def expected(self, node: int) -> Runs:
        """The addresses that the division gives a node."""
        if self.division == "prefixes":
            own = self.prefix(node)
            return self.free(own, self.gateway(own))
        if self.division == "blocks":
            first = self.space[0] + 1 + node * self.each
            return within(self.shared, first, first + self.each - 1)
        taken, left = node * self.each, self.each
        found: Runs = []
        for first, last in self.shared:
            skipped = min(taken, last - first + 1)
            taken -= skipped
            end = min(last, first + skipped + left - 1)
            if end >= first + skipped:
                found.append((first + skipped, end))
                left -= end - first - skipped + 1
        return found

    @property
    def likeness(self) -> object:
        """Everything that decides the pool's numbers, measured from where it starts."""
        start = self.space[0]
        excluded = tuple((a - start, b - start) for a, b in within(merged(self.excluded), *self.space))
        shape = (self.division, self.each, self.need, self.size, self.length, self.router, self.kept, excluded)
        return shape, self.subnet[0] - start, self.subnet[1] - start

    def counts(self, wanted: int) -> Counts:
        """The pool's numbers, for so many nodes."""
        taken = sum(size(self.expected(node)) for node in range(wanted))
        return Counts(wanted, self.serves(), self.usable(), taken)

    def divisions(self) -> int:
        """How many shares the pool is cut into, whatever is taken out of them."""
        if self.length is not None:
            return 1 << (self.length - self.cut)
        first, last = hosts(self.space, self.version)
        room = size(self.shared) if self.division == "sequence" else last - first + 1
        return room // self.each

    def serves(self) -> int:
        """Nodes that get what they need, up to the first that does not."""
        most = self.divisions()
        if self.division == "sequence":
            return most
        if self.size <= COUNTED_ONE_BY_ONE:
            return next((node for node in range(most) if size(self.expected(node)) < self.need), most)
        # A share that nothing touches is as good as any other, so those at both ends and at every edge tell.
        base = self.space[0] + (self.length is None)
        width = self.each if self.length is None else 1 << self.bits
        edges = [edge for run in self.excluded for edge in run]
        if self.length is None:
            edges += [edge for run in self.shared for edge in run]
        near = {(edge - base) // width + step for edge in edges for step in (-1, 0, 1)} | {0, most - 1}
        return next((n for n in sorted(near) if 0 <= n < most and size(self.expected(n)) < self.need), most)

    def usable(self) -> int:
        """Addresses that may be handed out, network by network."""
        if self.length is None:
            return size(self.shared)
        if self.size <= COUNTED_ONE_BY_ONE:
            return sum(size(self.expected(node)) for node in range(self.divisions()))
        lost = within(merged(self.excluded), *self.space)
        touched = {self.number(edge) for run in lost for edge in run}
        gaps = [(self.number(run[0]) + 1, self.number(run[1]) - 1) for run in lost]
        inner = size(less([gap for gap in gaps if gap[0] <= gap[1]], [(node, node) for node in touched]))
        untouched = self.divisions() - inner - len(touched)
        return untouched * self.full() + sum(size(self.expected(node)) for node in touched)

    def full(self) -> int:
        """Addresses to hand out in a node's prefix of which nothing is excluded."""
        own = self.prefix(0)
        (first, last), router = hosts(own, self.version), self.gateway(own)
        taken = [] if router is None else [(router, router)]
        return max(0, size(less([(first + self.kept[0], last - self.kept[1])], taken)))

    def number(self, address: int) -> int:
        """The node whose prefix holds an address."""
        assert self.length is not None
        return (address - self.space[0]) >> self.bits


def pools_of(plan: Json, addressing: Json) -> list[Pool]:
    """The pools of a plan."""
    per_nic = plan["addressesPerNic"]
    return [Pool(pool, addressing, per_nic * len(pool["rails"]), plan["ipam"]) for pool in plan["pools"]]


def first_addresses(pool: Pool, node: int, per_nic: int) -> list[int]:
    """The first address of every NIC of a node that the pool serves, rail by rail."""
    mine = pool.share(node)
    found = []
    for place in range(len(pool.rails)):
        skip = place * per_nic
        for first, last in mine:
            if skip <= last - first:
                found.append(first + skip)
                break
            skip -= last - first + 1
    return found


def faults(plan: Json, addressing: Json, ranges: Json, nodes: int, rails: int) -> list[str]:
    """What is wrong with a plan for that many nodes and rails."""
    pools = pools_of(plan, addressing)
    supernet = ipaddress.ip_network(addressing["supernet"])
    wanted = nodes + addressing.get("spareNodes", 0) + addressing.get("surgeNodes", 0)
    # One pool for all rails has the whole supernet.
    shared = plan["layout"] == "flat" and plan["ipam"] != "spiderpool"
    first = 0 if shared else addressing.get("firstRailSlot", 0)
    found = [*_cut(pools, supernet, rails, first), *_overlaps(pools, ranges)]
    if plan["proof"]["nodes"] != nodes:
        found.append(f"the proof is for {plan['proof']['nodes']} nodes, not {nodes}")
    known: dict[object, Counts] = {}
    for pool in pools:
        found += _share_faults(pool, nodes)
        # Rails that differ in nothing but where they start are counted once.
        if pool.likeness not in known:
            known[pool.likeness] = pool.counts(wanted)
        found += _number_faults(pool, known[pool.likeness])
    per_nic = plan["addressesPerNic"]
    holders = [(pool, node) for pool in pools for node in range(len(pool.shares))]
    firsts = [first for pool, node in holders for first in first_addresses(pool, node, per_nic)]
    if len(firsts) != nodes * rails:
        found.append(f"{len(firsts)} NICs of {nodes * rails} have a first address")
    if len(set(firsts)) != len(firsts):
        found.append("two NICs have the same first address")
    return found


def _cut(pools: Sequence[Pool], supernet: Net, rails: int, first_slot: int) -> Iterator[str]:
    served = [rail for pool in pools for rail in pool.rails]
    if served != list(range(rails)):
        yield f"rails {served} are served, not 0 to {rails - 1}"
    if len({pool.size for pool in pools}) != 1:
        yield "the rails' pools differ in size"
    low, high = ends(supernet)
    for place, pool in enumerate(pools, first_slot):
        first, last = pool.space
        if not low <= first <= last <= high:
            yield f"{pool.name} is outside the supernet"
        if first != low + place * pool.size:
            yield f"{pool.name} is not part {place} of the supernet"
        if not pool.subnet[0] <= first <= last <= pool.subnet[1]:
            yield f"{pool.name} is outside its subnet"


def _overlaps(pools: Sequence[Pool], ranges: Json) -> Iterator[str]:
    stated = [ranges[name] for name in ("pods", "services", "nodes") if ranges.get(name)]
    taken = [ipaddress.ip_network(text) for text in (*stated, *ranges.get("reserved", ()))]
    given: list[tuple[int, int, str]] = []
    for pool in pools:
        for node, text in enumerate(pool.shares):
            runs = runs_of(text) if pool.length is None else [ends(ipaddress.ip_network(text))]
            given += [(first, last, f"node {node} of {pool.name}") for first, last in runs]
            for network in taken:
                if network.version == pool.version and within(runs, *ends(network)):
                    yield f"{given[-1][2]} lies in {network}, which is in use"
    for before, after in pairwise(sorted(given)):
        if after[0] <= before[1]:
            yield f"{before[2]} and {after[2]} overlap"


def _share_faults(pool: Pool, nodes: int) -> Iterator[str]:
    if len(pool.shares) != nodes:
        yield f"{pool.name} has {len(pool.shares)} shares for {nodes} nodes"
    for node, text in enumerate(pool.shares):
        who = f"node {node} of {pool.name}"
        if pool.length is not None and ends(ipaddress.ip_network(text)) != pool.prefix(node):
            yield f"{who} has {text}, which is not prefix {node}"
        mine = pool.share(node)
        if mine != pool.expected(node):
            yield f"{who} has {text}, which is not its share"
        if size(mine) < pool.need:
            yield f"{who} has {size(mine)} of {pool.need} addresses"
        network = pool.subnet if pool.length is None else pool.prefix(node)
        forbidden = [*pool.excluded]
        if network[1] - network[0] > 1:
            forbidden.append((network[0], network[0]))
            forbidden += [(network[1], network[1])] if pool.version == 4 else []
        router = pool.gateway(network)
        if router is not None:
            forbidden.append((router, router))
            if not network[0] <= router <= network[1]:
                yield f"the gateway of {who} is outside its subnet"
        for run in forbidden:
            if within(mine, *run):
                yield f"{who} holds an address that nobody may have"


def _number_faults(pool: Pool, counts: Counts) -> Iterator[str]:
    if pool.claims["maxNodes"] != counts.most:
        yield f"{pool.name} serves {counts.most} nodes, and claims {pool.claims['maxNodes']}"
    if counts.most < counts.wanted:
        yield f"{pool.name} serves {counts.most} of {counts.wanted} nodes"
    if pool.claims["usable"] != counts.usable:
        yield f"{pool.name} has {counts.usable} usable addresses, and claims {pool.claims['usable']}"
    if pool.claims["needed"] != counts.taken:
        yield f"{pool.name} gives away {counts.taken} addresses, and claims {pool.claims['needed']}"
    if pool.claims["needed"] > counts.usable:
        yield f"{pool.name} has less than no headroom"
