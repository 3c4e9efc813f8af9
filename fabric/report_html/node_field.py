"""Every node's addresses in little room: what the page's script tells of nodes that are not drawn whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fabric.plan import Plan
from fabric.report_html.drawing import drawn_nodes, node_names

_ACROSS = 64
_CELL = 14


def node_field(plan: Plan) -> dict[str, Any] | None:
    """The field of nodes: a cell each, by pool; None where all of them are drawn anyway.

    `rails` has each rail's addresses as runs of `[first node, nodes, first address, step]`, addresses as decimal text,
    since those of IPv6 are larger than numbers of JSON. They are what the plan says, not computed anew.
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
    """Addresses in node order as arithmetic runs; nodes without one are in none of them."""
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
