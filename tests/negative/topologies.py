"""NCCL topology files: wishes that cannot be met, and PCI trees that are not those of their machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from own_topology import IN_USE, LAB, TREE

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, together, written

_WISH = "fabric.nccl.topology"


def _on_the_own_machine(place: str, *values: Any, at: str | None = None) -> Mistakes:
    """Each of the values in turn at a place of a machine with a PCI tree of its own; `at` is where it is faulty."""

    def made(base: Base) -> Iterator[Mistake]:
        if base.name == "test sriov-per-node":
            yield from (Mistake({**IN_USE, place: value}, at or place) for value in values)

    return made


def _trees(*texts: str, at: str = f"{TREE}.numa[0].tree") -> Mistakes:
    return _on_the_own_machine(f"{TREE}.numa[0].tree", *texts, at=at)


def _unknown_trees(base: Base) -> bool:
    return base.pool["shape"] in ("BM.GPU.H200.8", "server.dgx-h100.8") or base.provider == "doks"


KINDS = (
    Kind("a wish for a topology file that there is not", "SPC002",
        written(_WISH, "Auto", "yes", True, "lean-full", "", 1)),
    Kind("a topology file for a shape whose tree nobody knows", "NCT002",
        written(_WISH, "lean", "full", where=_unknown_trees)),
    Kind("a PCI tree in another notation", "SPC002", together(
        _trees("ffff:01:00.0>(G0,N1a", "ffff:01:00.0", "G0 N1a", "ffff:1:0>(G0,N1a)", "01>(g0,n1a)", ""),
        _on_the_own_machine(f"{TREE}.numa[0].tree", ["ffff:01:00.0>(G0,N1a)"]))),
    Kind("values of a PCI tree of another kind", "SPC002", together(
        _on_the_own_machine(f"{TREE}.numa", [], "two"),
        _on_the_own_machine(f"{TREE}.numa[0].node", -1, "0"),
        _on_the_own_machine(f"{TREE}.numa[0].cpus", "0-15", []),
        _on_the_own_machine(f"{TREE}.cpuMaskBits", 0, "64"),
        _on_the_own_machine(f"{TREE}.linkWidth", 3, "x16"),
        _on_the_own_machine(f"{TREE}.cpu.vendor", "Intel"),
        _on_the_own_machine(f"{TREE}.gpu.pciClass", "0302", at=f"{TREE}.gpu.pciClass"))),
    Kind("CPUs on two NUMA nodes, or on none that the kernel counts", "NCT001", together(
        _on_the_own_machine(f"{TREE}.numa[1].cpus", [[0, 15]], [[15, 31]], [[48, 64]], [[31, 16]]),
        _on_the_own_machine(f"{TREE}.numa[1].node", 0))),
    Kind("a GPU or NIC twice, or of no such machine, in a PCI tree", "NCT001",
        _trees("ffff:01:00.0>(G0,G0,N1a)", "ffff:01:00.0>(G0,N1a,N1a)", "ffff:01:00.0>(G0,G8,N1a)",
            "ffff:01:00.0>(G0,N1a,N0c)")),
    Kind("a GPU or NIC that is in no PCI tree", "NCT001", together(
        _trees("ffff:01:00.0>G0", at=f"{TREE}.numa"),
        _trees("ffff:01:00.0>N1a", at=f"{TREE}.numa"))),
    Kind("a rail whose nearest GPU is another in the PCI tree", "NCT001",
        _on_the_own_machine(f"{LAB}.nics[1].nearestGpu", 0)),
    Kind("link speeds that NCCL would take for Gen3", "NCT001", together(
        _on_the_own_machine(f"{TREE}.linkSpeed", "32.0 GT/s", "Gen5", "32"),
        _on_the_own_machine(f"{TREE}.rootLinkSpeed", "16.0 GT/s"))),
    Kind("made-up switches among real devices, or links slower than the NICs", "NCT001", together(
        _trees("01>(G0,N1a)", at=TREE),
        _on_the_own_machine(f"{TREE}.linkSpeed", "8.0 GT/s PCIe", at=TREE))),
    Kind("NICs that the stack file puts elsewhere than the published tree", "NCT005",
        lambda base: iter([Mistake({"fabric.rails": [{"rail": 0, "pci": "0000:0e:00.0"}]}, "fabric.rails")]
            if base.name == "test sriov-per-node" else [])),
)  # fmt: skip
