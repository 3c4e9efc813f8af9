"""Checks of the group `devices`: what device plug-ins advertise, and that it can be selected on the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.plan.case import Case
from fabric.plan.rails import one_resource
from fabric.rules.registry import Problem, check
from fabric.spec.places import dotted


@check("DEV001")
def each_rail_has_its_resource(case: Case) -> Iterator[Problem]:
    """A pod that asks for fewer than all rails gets the ones it asked for."""
    if one_resource(case):
        yield Problem(
            dotted(("fabric", "addressing", "layout")),
            f"all {case.shape.rails} rails share one resource, so only pods that ask for all of them get one of each",
            "write layout: per-rail if pods may ask for fewer",
        )


@check("DEV002")
def nics_can_be_named(case: Case) -> Iterator[Problem]:
    """The shape, or the stack file, says how to find each rail's NIC."""
    row = case.choices.row
    if row is None or case.choices.manager == "doks" or case.choices.model == "host-network":
        return
    by_interface = row.access == "shared"
    lacking = [
        rail for rail, nic in enumerate(case.shape.nics) if nic.interface is None and (by_interface or nic.pci is None)
    ]
    if lacking:
        what = "the interface on the host" if by_interface else "neither PCI address nor interface"
        keys = "interface" if by_interface else "pci"
        yield Problem(
            dotted(("fabric", "rails")),
            f"{case.shape.name} states {'not ' if by_interface else ''}{what} of rail"
            f"{'s' if len(lacking) > 1 else ''} {_numbers(lacking)}",
            f"add rails: one entry {{rail: <number>, {keys}: <as on the nodes>}} for each",
        )


@check("DEV003")
def nodes_have_virtual_functions(case: Case) -> Iterator[Problem]:
    """A model of virtual functions has some to hand out."""
    row = case.choices.row
    if row is not None and row.access == "virtual" and case.shape.nics and not case.shape.vfs_per_nic:
        yield Problem(
            dotted(("fabric", "vfsPerNic")),
            f"{case.shape.name} has no virtual functions that the catalog knows of",
            "add vfsPerNic: what the node image makes per RDMA NIC, or choose a model without virtual functions",
        )


def _numbers(rails: list[int]) -> str:
    if len(rails) > 2 and rails == list(range(rails[0], rails[-1] + 1)):
        return f"{rails[0]} to {rails[-1]}"
    return ", ".join(map(str, rails))
