"""Shapes of the catalog as the linter of topology files compares files with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.nccl.topology import topology_xml
from nccl_topology.machine import Machine


def machine_of(shape: Shape) -> Machine:
    """What a file for a shape is compared with; also the catalog's topology file, if a shape of that name has one."""
    known = catalog()
    row, tree = known.find(shape.name), known.topologies.get(shape.name)
    return Machine(
        name=shape.name,
        vendor=shape.gpus.vendor,
        count=shape.gpus.count,
        gpus=shape.gpus.pci,
        rails=tuple((nic.pci, nic.nearest_gpu) for nic in shape.nics),
        front_end=tuple(nic.pci for nic in shape.front_end_nics or () if nic.pci is not None),
        rate=shape.nic_speed_gbps,
        file="" if row is None or tree is None else topology_xml(row, tree),
    )


def published_machines() -> Iterator[Machine]:
    """The shapes of the catalog that have a topology file."""
    known = catalog()
    yield from map(machine_of, filter(None, map(known.find, known.topologies)))


def machines_json() -> str:
    """All shapes of the catalog, for the linter where this program is not installed."""
    return json.dumps([asdict(machine_of(shape)) for shape in catalog().shapes.values()], indent=1) + "\n"
