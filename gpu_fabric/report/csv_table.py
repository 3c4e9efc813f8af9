"""Every NIC of a plan as a table of comma-separated values: its node, its rail and its addresses."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from gpu_fabric.plan import Plan
from gpu_fabric.plan.rail import Rail
from gpu_fabric.report.fabric import Fabric, NodePlace, fabric_of

COLUMNS = (
    *("pool", "shape", "node", "rail", "pci", "rdma_device", "interface", "nearest_gpu", "network", "resource"),
    *("address_pool", "subnet", "share", "gateway", "host_address"),
)


def csv_report(plan: Plan) -> str:
    """A row for each node and rail, for each node where there are no rails; a cell without a fact is empty.

    With several fabrics the first column is the fabric's name.
    """
    text = StringIO()
    by_fabric = plan.by_fabric
    if len(by_fabric) == 1:
        table: list[tuple[object, ...]] = [COLUMNS, *_rows(plan)]
    else:
        rows = ((name, *row) for name, one in by_fabric.items() for row in _rows(one))
        table = [("fabric", *COLUMNS), *rows]
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _rows(plan: Plan) -> Iterator[tuple[object, ...]]:
    fabric = fabric_of(plan)
    for place in fabric.places:
        of_node = (place.pool.name, place.pool.shape, place.name)
        # The rails of a stack that creates the cluster alone are another stack's.
        rails = fabric.rails_of(place) if plan.part != "cluster" else ()
        for rail in rails:
            yield *of_node, *_nic(rail), *_addresses(fabric, place, rail)
        if not rails:
            yield *of_node, *[""] * (len(COLUMNS) - len(of_node))


def _nic(rail: Rail) -> tuple[object, ...]:
    names = (rail.pci, rail.rdma_device, rail.interface, rail.nearest_gpu, rail.network, rail.resource_name)
    return rail.index, *("" if name is None else name for name in names)


def _addresses(fabric: Fabric, place: NodePlace, rail: Rail) -> tuple[object, ...]:
    addresses = fabric.addresses
    pool = addresses.pool_of(rail.index)
    if pool is None:
        return ("",) * 5
    number = addresses.numbers[place.node]
    gateway, host = pool.gateway_of(number), pool.host_address(addresses.host_numbers[place.node])
    return pool.name, pool.node_prefix(number) or pool.subnet, pool.share_text(number), gateway or "", host or ""
