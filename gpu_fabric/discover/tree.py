"""The `topology` of a shape from NCCL's dump, where the stack file's notation can hold all of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from gpu_fabric.catalog.shape import HostTree, adapter_of
from gpu_fabric.discover.facts import CpuElement, PciElement

_BITS = 32
_IDENTITY = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")


def host_tree(cpus: Sequence[CpuElement], rails: Collection[str]) -> HostTree:
    """The NUMA nodes and PCI tree with the GPUs and the NICs at these addresses; all else is left out.

    Raises:
        ValueError: the notation cannot hold it; with the reason.
    """
    adapters = {adapter_of(address) for address in rails}
    kept = [(cpu, [tree for each in cpu.children if (tree := _pruned(each, adapters))]) for cpu in cpus]
    kept = [(cpu, trees) for cpu, trees in kept if trees]
    levels: list[list[PciElement]] = []
    for _, trees in kept:
        for tree in trees:
            _collect(tree, 0, levels)
    every = [element for _, trees in kept for tree in trees for element in tree.walk()]
    roots = [tree for _, trees in kept for tree in trees]
    boards = _boards(levels)
    below = [element for element in every if not any(element is root for root in roots)]
    speed, root_speed = _one(below, "link_speed"), _one(roots, "link_speed")
    try:
        return HostTree.model_validate(
            {
                "cpu": _cpu([cpu for cpu, _ in kept]),
                "cpu_mask_bits": max(_BITS * len(cpu.attributes.get("affinity", "").split(",")) for cpu, _ in kept),
                "link_speed": speed or root_speed,
                "root_link_speed": root_speed if below and root_speed != speed else None,
                "link_width": int(_one(every, "link_width") or 0),
                "bridge_by_depth": [
                    _identity([each for each in level if not any(each is board for board in boards)])
                    for level in levels
                ],
                "gpu_board_bridge": _identity(boards) if boards else None,
                "nic": _identity([element for element in every if element.is_nic]),
                "gpu": _identity([element for element in every if element.gpu is not None]),
                "numa": [
                    {
                        "node": int(cpu.attributes.get("numaid", "-1")),
                        "cpus": _ranges(cpu.attributes.get("affinity", "")),
                        "tree": ";".join(_notation(tree, boards) for tree in trees),
                    }
                    for cpu, trees in kept
                ],
            }
        )
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise ValueError(f"{place}: {error.errors()[0]['msg']}") from None


def _pruned(element: PciElement, adapters: Collection[str]) -> PciElement | None:
    if element.gpu is not None:
        return PciElement(element.address, element.attributes, (), element.gpu)
    if element.is_nic:
        return (
            PciElement(element.address, element.attributes, (), None, True)
            if adapter_of(element.address) in adapters
            else None
        )
    below = tuple(child for each in element.children if (child := _pruned(each, adapters)))
    return PciElement(element.address, element.attributes, below) if below else None


def _collect(element: PciElement, depth: int, levels: list[list[PciElement]]) -> None:
    if element.gpu is not None or element.is_nic:
        return
    if depth == len(levels):
        levels.append([])
    levels[depth].append(element)
    for child in element.children:
        _collect(child, depth + 1, levels)


def _ids(element: PciElement) -> tuple[str, ...]:
    return tuple(element.attributes.get(name, "") for name in _IDENTITY)


def _boards(levels: Iterable[list[PciElement]]) -> list[PciElement]:
    """Bridges that lead to a GPU alone, where they are of another kind than the rest of their level."""
    found: list[PciElement] = []
    for level in levels:
        lone = [each for each in level if len(each.children) == 1 and each.children[0].gpu is not None]
        rest = [each for each in level if not any(each is one for one in lone)]
        if (
            lone
            and rest
            and len({_ids(each) for each in lone}) == 1
            and _ids(lone[0]) not in {_ids(each) for each in rest}
        ):
            found += lone
    return found


def _one(elements: Sequence[PciElement], name: str) -> str:
    values = sorted({element.attributes.get(name, "") for element in elements})
    if len(values) > 1:
        raise ValueError(f"it has {name} {' and '.join(repr(value) for value in values)}, and can hold one")
    return values[0] if values else ""


def _identity(elements: Sequence[PciElement]) -> dict[str, Any]:
    kinds = {_ids(element) for element in elements}
    if len(kinds) != 1:
        raise ValueError("devices of one place in the tree have different ids")
    names = ("pci_class", *_IDENTITY[1:])
    return {name: value or None for name, value in zip(names, next(iter(kinds)), strict=True)}


def _cpu(cpus: Sequence[CpuElement]) -> dict[str, Any]:
    if len({tuple(sorted(_cpu_of(cpu).items())) for cpu in cpus}) != 1:
        raise ValueError("its CPUs are of different kinds")
    return _cpu_of(cpus[0])


def _cpu_of(cpu: CpuElement) -> dict[str, Any]:
    names = {"arch": "arch", "vendor": "vendor", "familyid": "family_id", "modelid": "model_id"}
    return {ours: cpu.attributes[name] for name, ours in names.items() if name in cpu.attributes}


def _ranges(affinity: str) -> list[tuple[int, int]]:
    try:
        mask = int("".join(word.rjust(8, "0") for word in affinity.split(",")), 16)
    except ValueError:
        raise ValueError(f"affinity {affinity!r} is not a CPU mask") from None
    found: list[tuple[int, int]] = []
    for cpu in range(mask.bit_length()):
        if mask >> cpu & 1:
            if found and found[-1][1] == cpu - 1:
                found[-1] = (found[-1][0], cpu)
            else:
                found.append((cpu, cpu))
    return found


def _notation(element: PciElement, boards: Sequence[PciElement]) -> str:
    if element.gpu is not None:
        return f"G{element.gpu}"
    domain, bus, rest = element.address.partition(":")[0], element.address.split(":")[1], element.address[-4:]
    short = bus if (domain, rest) == ("0000", "00.0") else element.address
    if element.is_nic:
        return f"N{short}"
    mark = "*" if any(element is board for board in boards) else ""
    below = [_notation(child, boards) for child in element.children]
    return f"{short}{mark}>{below[0] if len(below) == 1 else '(' + ','.join(below) + ')'}"
