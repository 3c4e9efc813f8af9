"""The fabric as a drawing: leaves on the left, a line per rail with the NICs of the nodes; in SVG units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from gpu_fabric.plan import Plan
from gpu_fabric.plan.plan import PlannedPool
from gpu_fabric.plan.rail import Rail

MOST_WHOLE = 8
"""Up to this number, all nodes are drawn."""
DRAWN_OF_MORE = 6
"""The number of nodes drawn if there are more; gaps count the others, which have a cell in the field of nodes."""

ROW = 24
LEAF_WIDTH = 176
HEAD = 40
GAP = 26
NODE_WIDTH = 134
NIC_WIDTH = 68
GPU_WIDTH = 40
BREAK_WIDTH = 72
_FOOT = 8


@dataclass(frozen=True)
class DrawnNic:
    """A NIC with its middle line `y`; `label` is its shortest published name, `hint` contains all known facts.

    `address` is the first planned address of its pod; empty if none is planned.
    """

    rail: int
    y: float
    label: str
    address: str
    hint: str


@dataclass(frozen=True)
class DrawnGpu:
    """A GPU next to the NICs that share its PCI switch."""

    y: float
    height: float
    label: str
    hint: str


@dataclass(frozen=True)
class DrawnNode:
    """A node with its left edge `x`."""

    x: float
    name: str
    pool: str
    hint: str
    nics: tuple[DrawnNic, ...]
    gpus: tuple[DrawnGpu, ...]


@dataclass(frozen=True)
class DrawnBreak:
    """A gap in the drawing for nodes that are not drawn."""

    x: float
    nodes: int


@dataclass(frozen=True)
class DrawnLeaf:
    """The leaf of a rail; `detail` is the rail's subnet, or its network if no addresses are planned."""

    rail: int
    y: float
    name: str
    detail: str
    hint: str


@dataclass(frozen=True)
class Drawing:
    """All elements with their positions; `width` and `height` are those of the SVG's view box."""

    width: float
    height: float
    leaves: tuple[DrawnLeaf, ...]
    nodes: tuple[DrawnNode, ...]
    breaks: tuple[DrawnBreak, ...]


@dataclass(frozen=True)
class _Place:
    """A node: its index in the plan's order, its name and its pool."""

    node: int
    name: str
    pool: PlannedPool


def drawing_of(plan: Plan) -> Drawing:
    """The drawing of a plan: all nodes if they are few, or the first and the last ones of the pools."""
    places = _places(plan)
    shown = drawn_nodes(plan)
    kinds = {group.shape: group.rails for group in plan.node_groups}
    x, nodes, breaks = float(LEAF_WIDTH + GAP), list[DrawnNode](), list[DrawnBreak]()
    for node, after in pairwise([*shown, len(places)]):
        nodes.append(_node(plan, places[node], kinds.get(places[node].pool.shape, plan.rails), x))
        x += NODE_WIDTH + GAP
        if after > node + 1:
            breaks.append(DrawnBreak(x=x, nodes=after - node - 1))
            x += BREAK_WIDTH + GAP
    return Drawing(
        width=x - GAP + 1,
        height=HEAD + ROW * len(plan.rails) + _FOOT,
        leaves=tuple(_leaf(plan, rail) for rail in plan.rails),
        nodes=tuple(nodes),
        breaks=tuple(breaks),
    )


def drawn_nodes(plan: Plan) -> tuple[int, ...]:
    """The nodes that are drawn, in order: each pool's first and last before any other."""
    count = len(_places(plan))
    ends, first = [0, count - 1], 0
    for pool in plan.cluster.pools:
        ends += [first, first + pool.nodes - 1]
        first += pool.nodes
    wanted = dict.fromkeys(node for node in (*ends, *range(count)) if 0 <= node < count)
    return tuple(sorted(list(wanted)[: count if count <= MOST_WHOLE else DRAWN_OF_MORE]))


def node_names(plan: Plan) -> tuple[str, ...]:
    """The nodes' names in the pages: from the stack file, or pool and number within the pool."""
    return tuple(place.name for place in _places(plan))


def address_table(drawing: Drawing) -> list[tuple[str, ...]]:
    """The addresses of the drawn NICs for users without a pointer: a row per rail, a column per node."""
    return [
        (leaf.name, leaf.detail, *(node.nics[leaf.rail].address for node in drawing.nodes)) for leaf in drawing.leaves
    ]


def _places(plan: Plan) -> list[_Place]:
    owners = [(pool, number) for pool in plan.cluster.pools for number in range(pool.nodes)]
    names = plan.addresses.node_names or tuple(f"{pool.name} {number}" for pool, number in owners)
    return [_Place(node, names[node], pool) for node, (pool, _) in enumerate(owners)]


def _middle(rail: int) -> float:
    return HEAD + ROW * rail + ROW / 2


def _leaf(plan: Plan, rail: Rail) -> DrawnLeaf:
    pool = plan.addresses.pool_of(rail.index)
    detail = rail.network or "" if pool is None else str(pool.subnet)
    lines = [f"Leaf of rail {rail.index}"]
    lines += [f"network {rail.network}"] if rail.network is not None else []
    lines += [f"resource {rail.resource_name}"] if rail.resource_name is not None else []
    if pool is not None:
        lines += [f"subnet {pool.subnet}", f"pool {pool.name}"]
        lines += [f"gateway {pool.gateway}"] if pool.gateway is not None else []
    return DrawnLeaf(rail.index, _middle(rail.index), f"leaf {rail.index}", detail, "\n".join(lines))


def _node(plan: Plan, place: _Place, rails: tuple[Rail, ...], x: float) -> DrawnNode:
    pool = place.pool
    nics = tuple(_nic(plan, place, rail) for rail in rails)
    hint = "\n".join([f"Node {place.name}", f"pool {pool.name}", f"shape {pool.shape}"])
    return DrawnNode(x, place.name, pool.name, hint, nics, tuple(_gpus(plan, rails)))


def _nic(plan: Plan, place: _Place, rail: Rail) -> DrawnNic:
    label = rail.rdma_device or rail.interface or f"NIC {rail.index}"
    lines = [f"Node {place.name}, rail {rail.index}", *address_lines(plan, place.node, rail.index)]
    facts = {"PCI": rail.pci, "RDMA device": rail.rdma_device, "interface": rail.interface, "network": rail.network}
    lines += [f"{name} {fact}" for name, fact in facts.items() if fact is not None]
    lines += [f"in the pod {rail.pod_interface}"] if rail.pod_interface is not None else []
    address = plan.addresses.nic_address(place.node, rail.index)
    return DrawnNic(rail.index, _middle(rail.index), label, str(address or ""), "\n".join(lines))


def address_lines(plan: Plan, node: int, rail: int) -> Iterator[str]:
    """The first address of a NIC's pod, the node's share on the rail if it is larger, and the host's own address."""
    pool = plan.addresses.pool_of(rail)
    if pool is None:
        yield "address: not planned here"
        return
    number = plan.addresses.numbers[node]
    address, share = plan.addresses.nic_address(node, rail), pool.share_text(number)
    yield f"address {address}"
    if share != str(address):
        yield f"the node's share {share}"
    host = pool.host_address(plan.addresses.host_numbers[node])
    if host is not None:
        yield f"the host's own {host}"


def _gpus(plan: Plan, rails: tuple[Rail, ...]) -> Iterator[DrawnGpu]:
    """A GPU next to each run of rails for which it is the nearest; none if that is not published."""
    maker = plan.workload.shape
    for gpu, run in groupby(rails, key=lambda rail: rail.nearest_gpu):
        near = [rail.index for rail in run]
        if gpu is None:
            continue
        named = f"rail {near[0]}" if len(near) == 1 else f"rails {near[0]} to {near[-1]}"
        hint = f"GPU {gpu} of {maker}\nshares a PCI switch with {named}"
        yield DrawnGpu(_middle(near[0]) - ROW / 2 + 3, ROW * len(near) - 6, f"GPU {gpu}", hint)


_ACROSS = 64
_CELL = 14


def node_field(plan: Plan) -> dict[str, Any] | None:
    """The field of nodes: a cell per node, by pool; None if all nodes are drawn.

    `rails` contains each rail's addresses as runs of `[first node, nodes, first address, step]`. Addresses are decimal
    text, since IPv6 addresses exceed JSON's numbers. They are the plan's addresses, not a second computation.
    """
    names = node_names(plan)
    if len(drawn_nodes(plan)) == len(names):
        return None
    blocks, first, top = [], 0, 0
    for pool in plan.cluster.pools:
        rows = -(-pool.nodes // _ACROSS)
        blocks.append({"pool": pool.name, "first": first, "nodes": pool.nodes, "top": top})
        first, top = first + pool.nodes, top + rows * _CELL + 24
    addresses = plan.addresses
    return {
        "across": _ACROSS,
        "cell": _CELL,
        "height": top,
        "blocks": blocks,
        "names": list(plan.addresses.node_names),
        "version": 0 if addresses.supernet is None else addresses.supernet.version,
        "rails": [
            {
                "name": rail.rdma_device or rail.interface or "",
                "runs": _runs(addresses.nic_address(node, rail.index) for node in range(len(names))),
            }
            for rail in plan.rails
        ],
    }


def _runs(addresses: Iterable[Any]) -> list[list[int | str]]:
    """Addresses in node order as arithmetic runs; nodes without an address are left out."""
    runs: list[list[int]] = []
    for node, address in enumerate(addresses):
        if address is None:
            continue
        value = int(address)
        last = runs[-1] if runs else None
        if last is not None and last[0] + last[1] == node:
            if last[1] == 1:
                last[3] = value - last[2]
            if last[2] + last[1] * last[3] == value:
                last[1] += 1
                continue
            if last[1] == 1:
                last[3] = 0
        runs.append([node, 1, value, 0])
    return [[first, nodes, str(value), str(step)] for first, nodes, value, step in runs]
