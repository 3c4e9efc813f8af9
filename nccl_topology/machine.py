"""The machine that a file is for: what the linter compares it with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Machine:
    """The GPUs and NICs of a machine type; what is not known is empty or None.

    `gpus` are the PCI addresses in the order of the GPUs. `rails` has the PCI address of each RDMA NIC, and the number
    of the GPU nearest to it; `front_end` has the addresses of the other NICs. `rate` is the line rate of an RDMA NIC in
    Gb/s. `file` is the topology file that is published for the machine, in NCCL's format.
    """

    name: str
    vendor: str
    count: int
    gpus: tuple[str, ...] = ()
    rails: tuple[tuple[str | None, int | None], ...] = ()
    front_end: tuple[str, ...] = ()
    rate: int | None = None
    file: str = ""

    @property
    def nics(self) -> dict[str, int | None]:
        """The nearest GPU of each RDMA NIC whose PCI address is known."""
        return {pci: gpu for pci, gpu in self.rails if pci is not None}


@cache
def known_machines() -> dict[str, Machine]:
    """The machines that the wheel has, by name; none in a checkout, where the catalog has them."""
    path = Path(__file__).with_name("machines.json")
    return machines_in(path.read_text(encoding="utf-8")) if path.exists() else {}


def machines_in(text: str) -> dict[str, Machine]:
    """The machines in a JSON text, by name."""
    return {row["name"]: Machine(**{key: _tuples(value) for key, value in row.items()}) for row in json.loads(text)}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
