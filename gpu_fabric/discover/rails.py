"""Which NICs are rails, and in which order; with the reasons, for the stack file's comments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from gpu_fabric.base.grammar import shown
from gpu_fabric.catalog.shape import Shape, adapter_of
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.node import NicFacts, NodeFacts

_NUMBERED = re.compile(r"(.*?)([0-9]+)")
EAST_WEST = "east-west"


@dataclass(frozen=True)
class RailChoice:
    """The rails in order, the other NICs, and why; `doubts` are what a person should look at."""

    rails: tuple[NicFacts, ...]
    others: tuple[NicFacts, ...]
    reasons: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def chosen_rails(node: NodeFacts, wanted: Sequence[str] = ()) -> RailChoice:
    """The rails: those that `wanted` names, or else those that a rule finds.

    Raises:
        DiscoveryError: `wanted` names a NIC that no file has, or one twice.
    """
    if wanted:
        rails = [_named(node, name) for name in wanted]
        if len({id(nic) for nic in rails}) < len(rails):
            raise DiscoveryError("--rails names a NIC twice; each is one rail")
        return RailChoice(tuple(rails), _rest(node, rails), ("the rails are those that --rails names, in its order",))
    stated = [nic for nic in node.nics if nic.traffic == EAST_WEST]
    if stated:
        if all(nic.rail is not None for nic in stated):
            stated.sort(key=lambda nic: nic.rail or 0)
            return _checked(
                node, stated, ("the rails are those that cluster-config.yaml calls east-west, by its numbers",)
            )
        reason = "the rails are those that cluster-config.yaml calls east-west"
        rails, order = _ordered(stated)
        return _checked(node, rails, (reason, order))
    return _found(node)


def rails_of(node: NodeFacts, shape: Shape) -> RailChoice | None:
    """The rails of a shape of the catalog, where the node has a NIC at the address of each; None otherwise."""
    by_address = {nic.pci: nic for nic in node.nics if nic.pci}
    rails = [by_address[nic.pci] for nic in shape.nics if nic.pci in by_address]
    if not rails or len(rails) < len(shape.nics):
        return None
    reason = f"the rails are the NICs at the addresses that {shape.name} has in the catalog"
    return RailChoice(tuple(rails), _rest(node, rails), (reason,))


def _named(node: NodeFacts, name: str) -> NicFacts:
    found = [nic for nic in node.nics if nic.is_called(name)]
    if not found:
        known = ", ".join(nic.called for nic in node.nics) or "none"
        raise DiscoveryError(f"--rails: no NIC is called {shown(name)}; the files have {known}")
    return found[0]


def _rest(node: NodeFacts, rails: Sequence[NicFacts]) -> tuple[NicFacts, ...]:
    return tuple(nic for nic in node.nics if not any(nic is rail for rail in rails))


def _found(node: NodeFacts) -> RailChoice:
    """RDMA NICs, narrowed to those that fit each rule, as long as one is left."""
    left, unplaced = _able(node)
    reasons: list[str] = []
    doubts: list[str] = []
    near = [nic for nic in left if nic.nearest]
    if near:
        place = "root" if all(nic.path is None and nic.root for nic in near) else "switch"
        left = _narrowed(left, near, f"share a PCI {place} with a GPU", reasons)
    else:
        doubts.append("no file says which NICs are near a GPU, so the rails are chosen by their likeness alone")
    ports = Counter(adapter_of(nic.pci) for nic in node.nics if nic.pci)
    likenesses: tuple[tuple[str, Callable[[NicFacts], Hashable]], ...] = (
        ("are no bonds", lambda nic: not nic.is_bond or None),
        ("have a known PCI address", lambda nic: nic.pci is not None or None),
        ("are of the model that most have", lambda nic: nic.device),
        ("have the speed that most have", lambda nic: nic.speed_gbps),
        ("have as many ports on their adapter as most", lambda nic: ports[adapter_of(nic.pci)] if nic.pci else None),
    )
    for words, likeness in likenesses:
        left = _narrowed(left, _most(left, likeness), words, reasons)
    rails, order = _ordered(left)
    choice = _checked(node, rails, (*(reasons or ["every RDMA NIC is a rail: all are alike"]), order) if rails else ())
    able = [nic for nic in choice.others if nic.is_able]
    if not near and rails and _are_data_processing_units(rails) and not _are_data_processing_units(able):
        doubts.append(
            "the rails are BlueField, which on many machines carry storage and management, and other RDMA NICs are "
            "left out; give the output of `ls -l /sys/bus/pci/devices`, or say with --rails which NICs are rails"
        )
    if any(nic.device is None for nic in rails):
        doubts.append(
            "no file says what kind of device each NIC is, so virtual functions may be among the rails; give the "
            "output of `lspci -D -nn -k`"
        )
    if unplaced:
        doubts.append(
            f"where {', '.join(nic.called for nic in unplaced)} are is not known, so they are left out; give the "
            "output of `ls -l /sys/class/infiniband`"
        )
    others = tuple(nic for nic in choice.others if not any(nic is each for each in unplaced))
    return RailChoice(choice.rails, others, choice.reasons, (*(doubts if rails else ()), *choice.doubts))


def _are_data_processing_units(nics: Sequence[NicFacts]) -> bool:
    """Whether every NIC is a BlueField, or there is none."""
    return all((row := nic.known_device) is not None and row.model.startswith("BlueField") for nic in nics)


def _able(node: NodeFacts) -> tuple[list[NicFacts], list[NicFacts]]:
    """The RDMA NICs; and those which may be the same ones again, as it is not known what is where.

    Functions that could have an RDMA device and devices without an address are two views of the same NICs. The
    functions are taken where they are more than the devices with an address: networks are made for addresses.
    """
    able = [nic for nic in node.nics if nic.is_able]
    placed = [nic for nic in able if nic.pci and nic.rdma_device]
    functions = [nic for nic in able if nic.pci and not nic.rdma_device]
    devices = [nic for nic in able if not nic.pci]
    if not devices:
        # Where RDMA devices are known, a function without one is not for RDMA.
        return (placed or functions), []
    if not functions:
        return [*placed, *devices], []
    return (placed, [*functions, *devices]) if len(placed) > len(functions) else ([*placed, *functions], devices)


def _narrowed(left: list[NicFacts], fitting: list[NicFacts], words: str, reasons: list[str]) -> list[NicFacts]:
    if len(fitting) < len(left):
        without = ", ".join(nic.called for nic in left if not any(nic is each for each in fitting))
        reasons.append(f"rails are NICs that {words}: without {without}")
    return fitting


def _most(nics: list[NicFacts], likeness: Callable[[NicFacts], Hashable]) -> list[NicFacts]:
    """The NICs with the value that most of them have; all, where two values are equally frequent or none is known."""
    counted = Counter(value for nic in nics if (value := likeness(nic)) is not None).most_common(2)
    if not counted or (len(counted) > 1 and counted[0][1] == counted[1][1]):
        return nics
    return [nic for nic in nics if likeness(nic) == counted[0][0]]


def _ordered(nics: Sequence[NicFacts]) -> tuple[list[NicFacts], str]:
    numbers = [_NUMBERED.fullmatch(nic.interface or "") for nic in nics]
    if nics and all(numbers) and len({each[1] for each in numbers if each}) == 1:
        ordered = sorted(nics, key=lambda nic: int((_NUMBERED.fullmatch(nic.interface or "") or ["", "", "0"])[2]))
        return ordered, "rail numbers follow the interfaces' numbers"
    by_address = sorted(nics, key=lambda nic: (nic.pci is None, nic.pci or "", _natural(nic.called)))
    if nics and all(nic.nearest_gpu is not None for nic in nics):
        return sorted(by_address, key=lambda nic: nic.nearest_gpu or 0), (
            "rail numbers follow the nearest GPUs, then the PCI addresses"
        )
    return by_address, "rail numbers follow the PCI addresses, or the devices' names where those are not known"


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    return tuple((text, int(number or 0)) for text, number in re.findall(r"([^0-9]*)([0-9]{0,9})", name))


def _checked(node: NodeFacts, rails: Sequence[NicFacts], reasons: Sequence[str]) -> RailChoice:
    gpus, count = len(node.gpus), len(rails)
    doubts = []
    if gpus and count and gpus % count and count % gpus:
        doubts.append(f"{count} rails for {gpus} GPUs are no even share; say with --rails which NICs are rails")
    return RailChoice(tuple(rails), _rest(node, rails), tuple(reasons), tuple(doubts))
