"""Every node's addresses in compact form, for the page's script and the nodes that are not drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpu_fabric.plan import Plan
from gpu_fabric.report.html.drawing import drawn_nodes, node_names

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
