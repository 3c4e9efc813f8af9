"""Check that a PCI tree fits a shape: its CPUs, its addresses, and each GPU and NIC exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gpu_fabric.catalog import Shape, Topology
from gpu_fabric.catalog.shape import Branch, Bridge, GpuLeaf, HostTree, NicLeaf, adapter_of, branches, parse_tree
from gpu_fabric.nccl.topology import Form, cpu_bits, topology_xml
from nccl_topology.dialect import dialect_table

Location = tuple[int | str, ...]


class TreeProblem(NamedTuple):
    """One problem: the path of keys from the shape, a message, and the remedy."""

    location: Location
    message: str
    remedy: str


@lru_cache(maxsize=64)
def tree_problems(shape: Shape, tree: HostTree) -> tuple[TreeProblem, ...]:
    """Every reason why the tree does not fit the shape; empty if its topology file is good.

    If the other checks find nothing, the lean file is generated and linted: a tree without problems passes the linter.
    """
    found = (*_numa_nodes(tree), *_links(tree), *_places(shape, tree))
    return found or tuple(_lint(shape, tree))


def _numa_nodes(tree: HostTree) -> Iterator[TreeProblem]:
    numbers: set[int] = set()
    taken = 0
    for place, numa in enumerate(tree.numa):
        if numa.node in numbers:
            yield TreeProblem(
                ("topology", "numa", place, "node"),
                f"NUMA node {numa.node} is there twice",
                "write each node once, with all roots of its tree, `;` between them",
            )
        numbers.add(numa.node)
        where: Location = ("topology", "numa", place, "cpus")
        if wrong := [f"{first} to {last}" for first, last in numa.cpus if last < first]:
            yield TreeProblem(where, f"CPUs {', '.join(wrong)} are not a range", "write the lower number first")
            continue
        highest = max(last for _, last in numa.cpus)
        if highest >= tree.cpu_mask_bits:
            yield TreeProblem(
                where,
                f"CPU {highest} is not among the {tree.cpu_mask_bits} of cpuMaskBits, counted from 0",
                f"write cpuMaskBits: {highest + 1} or more, or correct the range",
            )
        mask = cpu_bits(numa)
        shared = mask & taken
        if shared:
            cpu = shared.bit_length() - 1
            yield TreeProblem(where, f"CPU {cpu} is on another NUMA node, too", "write each CPU once")
        elif mask.bit_count() != sum(last - first + 1 for first, last in numa.cpus):
            yield TreeProblem(where, "two of the ranges overlap", "write each CPU once")
        taken |= mask


def _links(tree: HostTree) -> Iterator[TreeProblem]:
    known = dialect_table().link_speeds
    for key, speed in (("linkSpeed", tree.link_speed), ("rootLinkSpeed", tree.root_link_speed)):
        if speed is not None and speed not in known:
            yield TreeProblem(
                ("topology", key),
                f"{speed!r} is not a link speed that NCCL knows: it would take Gen3",
                f"write one of {', '.join(known)}",
            )


def _places(shape: Shape, tree: HostTree) -> Iterator[TreeProblem]:
    """Check that each GPU, NIC and bridge occurs once, and that NICs are nearest to the GPUs that the shape names."""
    if not shape.gpus.pci:
        yield TreeProblem(
            ("gpus", "pci"), "a PCI tree needs the addresses of the GPUs", "add pci: one address per GPU, in GPU order"
        )
    addresses = [nic.pci for nic in shape.nics if nic.pci is not None]
    if len(addresses) < max(1, shape.rails):
        yield TreeProblem(
            ("nics",), "a PCI tree needs the addresses of the RDMA NICs", "add pci to every entry of nics"
        )
        return
    adapters = list(dict.fromkeys(map(adapter_of, addresses)))
    seen: set[str] = set()
    nearest: dict[str, frozenset[int]] = {}
    for place, numa in enumerate(tree.numa):
        where: Location = ("topology", "numa", place, "tree")
        elements = list(branches(parse_tree(numa.tree)))
        for element, above in elements:
            if (wrong := _wrong(shape, tree, element, adapters)) is not None:
                yield TreeProblem(where, *wrong)
            name = _name(element)
            if name in seen:
                yield TreeProblem(where, f"{name} is in the tree twice", "write every device and bridge once")
            seen.add(name)
            if isinstance(element, NicLeaf):
                nearest[adapter_of(element.address)] = _nearest(above, [each for each, _ in elements])
    missing = {f"GPU {index}": f"G{index}" for index in range(shape.gpus.count)}
    missing |= {f"the RDMA NIC at {adapter}.0": f"N{adapter}.0" for adapter in adapters}
    for name, written in missing.items():
        if name not in seen:
            yield TreeProblem(("topology", "numa"), f"{name} is in no tree", f"write {written} below its bridge")
    yield from _rail_map(shape, nearest)


def _wrong(shape: Shape, tree: HostTree, element: Branch, adapters: Sequence[str]) -> tuple[str, str] | None:
    """The message and remedy for one element by itself; None if it is valid."""
    if isinstance(element, GpuLeaf):
        count = shape.gpus.count
        if element.index < count:
            return None
        return f"there is no GPU {element.index}: the shape has {count}, counted from 0", f"write G0 to G{count - 1}"
    if isinstance(element, NicLeaf):
        if adapter_of(element.address) in adapters:
            return None
        others = ", ".join(f"N{adapter}.0" for adapter in adapters)
        return f"no RDMA NIC of the shape is at {element.address}", f"write {others}, or N and the bus alone"
    if element.gpu_board and tree.gpu_board_bridge is None:
        return f"`*` marks the bridge at {element.address}, but there is no gpuBoardBridge", "add it, or take `*` away"
    return None


def _name(element: Branch) -> str:
    if isinstance(element, GpuLeaf):
        return f"GPU {element.index}"
    if isinstance(element, NicLeaf):
        return f"the RDMA NIC at {adapter_of(element.address)}.0"
    return f"the bridge at {element.address}"


def _nearest(above: tuple[Bridge, ...], whole: list[Branch]) -> frozenset[int]:
    """GPUs below the lowest bridge above a NIC that has any; without such a bridge, those of its NUMA node."""
    for bridge in reversed(above):
        if below := frozenset(each.index for each, _ in branches(bridge.children) if isinstance(each, GpuLeaf)):
            return below
    return frozenset(each.index for each in whole if isinstance(each, GpuLeaf))


def _rail_map(shape: Shape, nearest: dict[str, frozenset[int]]) -> Iterator[TreeProblem]:
    for rail, nic in enumerate(shape.nics):
        near = nearest.get(adapter_of(nic.pci)) if nic.pci is not None else None
        if near is not None and nic.nearest_gpu is not None and nic.nearest_gpu not in near:
            there = ", ".join(map(str, sorted(near))) or "none"
            yield TreeProblem(
                ("nics", rail, "nearestGpu"),
                f"GPU {nic.nearest_gpu} is not nearest to rail {rail} in the PCI tree: GPU {there} is",
                f"write {min(near)}, or hang the NIC elsewhere" if near else "hang the NIC on the NUMA node of a GPU",
            )


def _lint(shape: Shape, tree: HostTree) -> Iterator[TreeProblem]:
    # Here, since a plan with a published tree needs no linter.
    from gpu_fabric.nccl.machines import machine_of
    from nccl_topology.linter import Linter

    topology = tree if isinstance(tree, Topology) else Topology(shape=shape.name, **dict(tree))
    text = topology_xml(shape, topology, Form.LEAN)
    for found in Linter.of(machine=machine_of(shape)).lint("topo.xml", text.encode()).problems:
        yield TreeProblem(("topology",), f"the file made from it breaks {found.rule}: {found.message}", found.remedy)
