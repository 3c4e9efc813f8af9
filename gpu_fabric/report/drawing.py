"""The fabric as a drawing: leaves on the left, a line per rail with the NICs of the nodes; in SVG units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from gpu_fabric.plan.rail import Rail
from gpu_fabric.report.fabric import Fabric, NodePlace

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

    `address` is the first planned address of its pod; empty if none is planned. `differs`: from the other drawing's.
    """

    rail: int
    y: float
    label: str
    address: str
    hint: str
    differs: bool = False


@dataclass(frozen=True)
class DrawnGpu:
    """A GPU next to the NICs that share its PCI switch."""

    y: float
    height: float
    label: str
    hint: str


@dataclass(frozen=True)
class DrawnNode:
    """A node with its left edge `x`; `differs`: the other drawing has no such node, or one of another shape."""

    x: float
    name: str
    pool: str
    hint: str
    nics: tuple[DrawnNic, ...]
    gpus: tuple[DrawnGpu, ...]
    differs: bool = False


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
    differs: bool = False


@dataclass(frozen=True)
class Drawing:
    """All elements with their positions; `width` and `height` are those of the SVG's view box."""

    width: float
    height: float
    leaves: tuple[DrawnLeaf, ...]
    nodes: tuple[DrawnNode, ...]
    breaks: tuple[DrawnBreak, ...]


def drawing_of(fabric: Fabric, other: Fabric | None = None) -> Drawing:
    """The drawing of a fabric: all nodes if they are few, or the first and the last ones of the pools.

    What is not as in the `other` fabric is marked.
    """
    shown = drawn_nodes(fabric)
    x, nodes, breaks = float(LEAF_WIDTH + GAP), list[DrawnNode](), list[DrawnBreak]()
    for node, after in pairwise([*shown, len(fabric.places)]):
        nodes.append(_compared_node(fabric, other, fabric.places[node], x))
        x += NODE_WIDTH + GAP
        if after > node + 1:
            breaks.append(DrawnBreak(x=x, nodes=after - node - 1))
            x += BREAK_WIDTH + GAP
    return Drawing(
        width=x - GAP + 1,
        height=HEAD + ROW * len(fabric.rails) + _FOOT,
        leaves=tuple(_compared_leaf(fabric, other, rail) for rail in fabric.rails),
        nodes=tuple(nodes),
        breaks=tuple(breaks),
    )


def drawn_nodes(fabric: Fabric) -> tuple[int, ...]:
    """The nodes that are drawn, in order: each pool's first and last before any other."""
    count = len(fabric.places)
    ends, first = [0, count - 1], 0
    for pool in fabric.pools:
        ends += [first, first + pool.nodes - 1]
        first += pool.nodes
    wanted = dict.fromkeys(node for node in (*ends, *range(count)) if 0 <= node < count)
    return tuple(sorted(list(wanted)[: count if count <= MOST_WHOLE else DRAWN_OF_MORE]))


def address_table(drawing: Drawing) -> list[tuple[str, ...]]:
    """The addresses of the drawn NICs for users without a pointer: a row per rail, a column per node."""
    return [
        (leaf.name, leaf.detail, *(node.nics[leaf.rail].address for node in drawing.nodes)) for leaf in drawing.leaves
    ]


def _middle(rail: int) -> float:
    return HEAD + ROW * rail + ROW / 2


def _compared_leaf(fabric: Fabric, other: Fabric | None, rail: Rail) -> DrawnLeaf:
    leaf = _leaf(fabric, rail)
    if other is None:
        return leaf
    return replace(leaf, differs=leaf not in [_leaf(other, one) for one in other.rails if one.index == rail.index])


def _leaf(fabric: Fabric, rail: Rail) -> DrawnLeaf:
    pool = fabric.addresses.pool_of(rail.index)
    detail = rail.network or "" if pool is None else str(pool.subnet)
    lines = [f"Leaf of rail {rail.index}"]
    lines += [f"network {rail.network}"] if rail.network is not None else []
    lines += [f"resource {rail.resource_name}"] if rail.resource_name is not None else []
    if pool is not None:
        lines += [f"subnet {pool.subnet}", f"pool {pool.name}"]
        lines += [f"gateway {pool.gateway}"] if pool.gateway is not None else []
    return DrawnLeaf(rail.index, _middle(rail.index), f"leaf {rail.index}", detail, "\n".join(lines))


def _compared_node(fabric: Fabric, other: Fabric | None, place: NodePlace, x: float) -> DrawnNode:
    node = _node(fabric, place, x)
    if other is None:
        return node
    same = other.place_of.get(place.name)
    if same is None or same.pool.shape != place.pool.shape:
        return replace(node, differs=True)
    known = set(_node(other, same, x).nics)
    return replace(node, nics=tuple(replace(nic, differs=nic not in known) for nic in node.nics))


def _node(fabric: Fabric, place: NodePlace, x: float) -> DrawnNode:
    pool, rails = place.pool, fabric.rails_of(place)
    nics = tuple(_nic(fabric, place, rail) for rail in rails)
    hint = "\n".join([f"Node {place.name}", f"pool {pool.name}", f"shape {pool.shape}"])
    return DrawnNode(x, place.name, pool.name, hint, nics, tuple(_gpus(fabric.shape, rails)))


def _nic(fabric: Fabric, place: NodePlace, rail: Rail) -> DrawnNic:
    label = rail.rdma_device or rail.interface or f"NIC {rail.index}"
    lines = [f"Node {place.name}, rail {rail.index}", *fabric.address_lines(place.node, rail.index)]
    facts = {"PCI": rail.pci, "RDMA device": rail.rdma_device, "interface": rail.interface, "network": rail.network}
    lines += [f"{name} {fact}" for name, fact in facts.items() if fact is not None]
    lines += [f"in the pod {rail.pod_interface}"] if rail.pod_interface is not None else []
    address = fabric.addresses.nic_address(place.node, rail.index)
    return DrawnNic(rail.index, _middle(rail.index), label, str(address or ""), "\n".join(lines))


def _gpus(shape: str, rails: tuple[Rail, ...]) -> Iterator[DrawnGpu]:
    """A GPU next to each run of rails for which it is the nearest; none if that is not published."""
    for gpu, run in groupby(rails, key=lambda rail: rail.nearest_gpu):
        near = [rail.index for rail in run]
        if gpu is None:
            continue
        named = f"rail {near[0]}" if len(near) == 1 else f"rails {near[0]} to {near[-1]}"
        hint = f"GPU {gpu} of {shape}\nshares a PCI switch with {named}"
        yield DrawnGpu(_middle(near[0]) - ROW / 2 + 3, ROW * len(near) - 6, f"GPU {gpu}", hint)


_ACROSS = 64
_CELL = 14


def node_field(fabric: Fabric) -> dict[str, Any] | None:
    """The field of nodes: a cell per node, by pool; None if all nodes are drawn.

    `rails` contains each rail's addresses as runs of `[first node, nodes, first address, step]`. Addresses are decimal
    text, since IPv6 addresses exceed JSON's numbers. They are the plan's addresses, not a second computation.
    """
    count = len(fabric.places)
    if len(drawn_nodes(fabric)) == count:
        return None
    blocks, first, top = [], 0, 0
    for pool in fabric.pools:
        rows = -(-pool.nodes // _ACROSS)
        blocks.append({"pool": pool.name, "first": first, "nodes": pool.nodes, "top": top})
        first, top = first + pool.nodes, top + rows * _CELL + 24
    addresses = fabric.addresses
    return {
        "across": _ACROSS,
        "cell": _CELL,
        "height": top,
        "blocks": blocks,
        "names": list(addresses.node_names),
        "version": 0 if addresses.supernet is None else addresses.supernet.version,
        "rails": [
            {
                "name": rail.rdma_device or rail.interface or "",
                "runs": _runs(addresses.nic_address(node, rail.index) for node in range(count)),
            }
            for rail in fabric.rails
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
