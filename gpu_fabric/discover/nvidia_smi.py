"""`nvidia-smi topo -m`, `nvidia-smi --query-gpu` and `nvidia-smi -L`: GPUs, and the NICs nearest to each.

Source: nvidia-smi's manual page; the matrix as newer drivers print it, with NICs as NIC0 and a legend, and as earlier
ones do, with the names of the RDMA devices. `topo -mp` has the same form. GPUs are numbered by PCI address.
"""

from __future__ import annotations

import re

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover.facts import Observation, Statements
from gpu_fabric.discover.text import Output, pci_address

TOPO_COMMAND = "nvidia-smi topo -m"
GPUS_COMMAND = "nvidia-smi --query-gpu=index,pci.bus_id,name,memory.total --format=csv"

_SWITCHES = {"PIX": 0, "PXB": 1}
"""Connections that stay below one host bridge: over a switch that both share; the smaller, the nearer."""
_CELL = re.compile(r"X|NV[0-9]+|PIX|PXB|PHB|NODE|SYS|SOC")
_LABEL = re.compile(r"GPU[0-9]{1,3}|NIC[0-9]{1,3}|[a-z]\w*[0-9]")
_LEGEND = re.compile(r"\s*(NIC[0-9]{1,3}):\s+(\S+)")
_LISTED = re.compile(r"GPU ([0-9]{1,3}): (.+?) \(UUID: .*\)")
_MEANING = re.compile(r"\s*(?:X|SYS|NODE|PHB|PXB|PIX|SOC|NV#)\s+= .*")
_INDEX = re.compile(r"[0-9]{1,3}")


def is_topo(output: Output) -> bool:
    """Whether a text looks like the matrix of `nvidia-smi topo`."""
    return any(re.match(r"\s*GPU0\s", line) for _, line in output.lines())


def read_topo(output: Output) -> Observation:
    """The GPUs, and for each RDMA device the nearest GPUs below the same PCI switch."""
    found = Statements(output.file)
    columns: list[str] = []
    near: dict[str, dict[int, int]] = {}
    legend: dict[str, tuple[str, int]] = {}
    gpus: dict[int, int] = {}
    ended = 0
    for number, line in output.lines():
        words = line.split()
        if entry := _LEGEND.fullmatch(line):
            legend[entry[1]] = (entry[2], number)
        elif not columns:
            columns = _columns(words)
            if "GPU0" not in columns:
                output.refuse_line(number, line, "GPU0  GPU1  …  NIC0  …  CPU Affinity", TOPO_COMMAND)
        elif words[0] in columns and not ended:
            cells = words[1 : len(columns) + 1]
            if len(cells) < len(columns) or not all(map(_CELL.fullmatch, cells)):
                output.refuse(
                    number,
                    f"the row of {words[0]} has not {len(columns)} connections, as its head has columns",
                    f"give the whole output of `{TOPO_COMMAND}`",
                )
            if words[0].startswith("GPU"):
                gpus[int(words[0][3:])] = number
                for column, cell in zip(columns, cells, strict=True):
                    if not column.startswith("GPU"):
                        near.setdefault(column, {}).update({int(words[0][3:]): _SWITCHES.get(cell, 9)})
        elif line.strip() in ("Legend:", "NIC Legend:"):
            ended = number
        elif not ended or not _MEANING.fullmatch(line):
            output.refuse_line(number, line, "GPU0   X   NV18 … PIX …", TOPO_COMMAND)
    if len(gpus) != sum(column.startswith("GPU") for column in columns):
        output.refuse(1, f"{len(gpus)} rows of GPUs below a head that has others", f"give the whole `{TOPO_COMMAND}`")
    for index, number in gpus.items():
        found.add(number, "gpu", str(index), listed=1, vendor="nvidia")
    for column, ranks in near.items():
        if column.startswith("NIC") and column not in legend:
            output.refuse(ended or 1, f"{column} is not in the NIC legend", f"give the whole `{TOPO_COMMAND}`")
        least = min(ranks.values())
        nearest = tuple(gpu for gpu, rank in sorted(ranks.items()) if rank == least and rank != 9)
        called, at = legend.get(column, (column, gpus[min(gpus)]))
        found.add(at, "rdma", called, nearest=nearest)
    return Observation(tuple(found.found))


def _columns(words: list[str]) -> list[str]:
    found = []
    for word in words:
        if not _LABEL.fullmatch(word):
            break
        found.append(word)
    return found


def is_gpus(output: Output) -> bool:
    """Whether a text looks like a list of GPUs."""
    return any(_LISTED.fullmatch(line) or "pci.bus_id" in line for _, line in output.lines())


def read_gpus(output: Output) -> Observation:
    """The GPUs with PCI address, name and memory; `-L` has the names alone."""
    found = Statements(output.file)
    columns: list[str] = []
    for number, line in output.lines():
        if listed := _LISTED.fullmatch(line):
            found.add(number, "gpu", str(int(listed[1])), name=listed[2], listed=1, vendor="nvidia")
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if not columns:
            columns = [cell.partition(" [")[0] for cell in cells]
            if not {"index", "pci.bus_id"} <= set(columns):
                output.refuse_line(number, line, "index, pci.bus_id, name, memory.total [MiB]", GPUS_COMMAND)
            continue
        row = dict(zip(columns, cells, strict=False))
        address = pci_address(row.get("pci.bus_id", ""))
        if len(cells) != len(columns) or address is None or not _INDEX.fullmatch(row["index"]):
            output.refuse(
                number,
                f"{shown(line)} is not a row of a GPU with index and PCI address",
                f"give the whole output of `{GPUS_COMMAND}`",
            )
        memory = re.fullmatch(r"([0-9]{1,8}) MiB", row.get("memory.total", ""))
        found.add(
            number,
            "gpu",
            str(int(row["index"])),
            pci=address,
            name=row.get("name"),
            memory=int(memory[1]) if memory else None,
            listed=1,
            vendor="nvidia",
        )
    return Observation(tuple(found.found))
