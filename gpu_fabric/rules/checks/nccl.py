"""Checks of the group `nccl`: NCCL's settings."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted


@check("NCL001")
def topology_is_published(case: Case) -> Iterator[Problem]:
    """Pods with virtual functions get a topology file where the shape's PCI tree is known."""
    row = case.choices.row
    asked = case.spec.fabric.nccl.topology != "auto"
    if not asked and row is not None and row.access == "virtual" and case.shape.name not in case.known.topologies:
        yield Problem(
            dotted(("cluster", "pools")),
            f"{case.shape.name} gets no NCCL topology file",
            "nothing to do, unless nccl-tests shows traffic crossing NUMA nodes",
        )
