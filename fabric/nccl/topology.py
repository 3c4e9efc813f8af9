"""NCCL topology files from the catalog's PCI trees.

The dialect is NCCL's own reader, not XML at large: no prolog, one tag a line, double quotes, LF, no tabs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabric.catalog import NumaNode, PciIdentity, Shape, Topology

_TOKEN = re.compile(r"G\d+|N[0-9a-f]{2}|[0-9a-f]{2}\*?|[>(),;]")


@dataclass(frozen=True)
class Bridge:
    """A PCI bridge at a bus, with what hangs below it."""

    bus: str
    gpu_board: bool
    children: tuple[Bridge | NicLeaf | GpuLeaf, ...]


@dataclass(frozen=True)
class NicLeaf:
    """A two-port RDMA adapter at a bus."""

    bus: str


@dataclass(frozen=True)
class GpuLeaf:
    """GPU by its number in the shape."""

    index: int


def parse_tree(text: str) -> tuple[Bridge | NicLeaf | GpuLeaf, ...]:
    """The roots of a tree in the catalog's notation.

    Raises:
        ValueError: the text is not in the notation of `fabric.catalog.topology.NumaNode`.
    """
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"{text!r} is no PCI tree")
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take(expected: str | None = None) -> str:
        nonlocal position
        token = peek()
        if not token or (expected is not None and token != expected):
            read = "".join(tokens[:position])
            raise ValueError(f"{text!r} is no PCI tree: expected {expected or 'a bus'} after {read!r}")
        position += 1
        return token

    def below() -> tuple[Bridge | NicLeaf | GpuLeaf, ...]:
        if peek() != "(":
            return (element(),)
        take("(")
        elements = [element()]
        while peek() == ",":
            take(",")
            elements.append(element())
        take(")")
        return tuple(elements)

    def element() -> Bridge | NicLeaf | GpuLeaf:
        token = take()
        if token.startswith("N"):
            return NicLeaf(token[1:])
        if token.startswith("G"):
            return GpuLeaf(int(token[1:]))
        take(">")
        return Bridge(token.rstrip("*"), token.endswith("*"), below())

    roots = [element()]
    while peek() == ";":
        take(";")
        roots.append(element())
    if peek():
        raise ValueError(f"{text!r} is no PCI tree: {peek()!r} after its end")
    return tuple(roots)


def cpu_mask(numa: NumaNode, bits: int) -> str:
    """The CPU mask of a NUMA node as comma-separated 32-bit hex words, most significant first."""
    mask = 0
    for first, last in numa.cpus:
        mask |= ((1 << (last - first + 1)) - 1) << first
    words = [f"{(mask >> shift) & 0xFFFFFFFF:08x}" for shift in range(0, bits, 32)]
    return ",".join(reversed(words))


def vf_devices(topology: Topology, rails: int) -> tuple[str, ...]:
    """RDMA device name of each rail's first virtual function, in rail order.

    The hosts number them after the physical ones, in the text order of the interface names rdma0, rdma1, rdma10, …
    (source: the boot script that came with the OKE guide creates them in that order).
    """
    interfaces = [f"rdma{rail}" for rail in range(rails)]
    created = sorted(interfaces)
    return tuple(f"mlx5_{topology.first_vf_device + created.index(interface)}" for interface in interfaces)


def link_layer_guid(shape: str, bus: str) -> str:
    """A GUID of our own for an adapter: unique per shape and bus, the same for both ports, and stable."""
    return "0x" + hashlib.sha256(f"{shape}/{bus}".encode()).hexdigest()[:16]


def topology_xml(shape: Shape, topology: Topology) -> str:
    """The NCCL topology file of a shape whose pods hold virtual functions; text with a final newline.

    Names every port by the RDMA device of its virtual function, so that NCCL finds the right PCI place for devices
    that a pod cannot see in its own sysfs.

    Raises:
        ValueError: the shape's PCI addresses are not published.
    """
    if not shape.gpus.pci or not shape.nics or any(nic.pci is None for nic in shape.nics):
        raise ValueError(f"{shape.name}: a topology file needs the PCI addresses of all GPUs and RDMA NICs")
    return "\n".join(_lines(shape, topology)) + "\n"


def _lines(shape: Shape, topology: Topology) -> Iterator[str]:
    yield '<system version="1">'
    for numa in topology.numa:
        attributes = {
            "numaid": numa.node,
            "affinity": cpu_mask(numa, topology.cpu_mask_bits),
            "arch": topology.cpu.arch,
            "vendor": topology.cpu.vendor,
            "familyid": topology.cpu.family_id,
            "modelid": topology.cpu.model_id,
        }
        yield f"  <cpu {_attributes(attributes)}>"
        for root in parse_tree(numa.tree):
            yield from _element(root, shape, topology, depth=0)
        yield "  </cpu>"
    yield "</system>"


def _element(element: Bridge | NicLeaf | GpuLeaf, shape: Shape, topology: Topology, depth: int) -> Iterator[str]:
    indent = "  " * (depth + 2)
    speed = topology.link_speed
    if isinstance(element, Bridge):
        identity = topology.bridge_by_depth[min(depth, len(topology.bridge_by_depth) - 1)]
        if element.gpu_board and topology.gpu_board_bridge is not None:
            identity = topology.gpu_board_bridge
        if depth == 0 and topology.root_link_speed is not None:
            speed = topology.root_link_speed
        yield f"{indent}<pci {_pci(f'0000:{element.bus}:00.0', identity, speed)}>"
        for child in element.children:
            yield from _element(child, shape, topology, depth + 1)
    elif isinstance(element, NicLeaf):
        yield f"{indent}<pci {_pci(f'0000:{element.bus}:00.0', topology.nic, speed)}>"
        yield from _nic(element, shape, topology, indent + "  ")
    else:
        yield f"{indent}<pci {_pci(shape.gpus.pci[element.index], topology.gpu, speed)}>"
        yield from _gpu(element.index, topology, indent + "  ")
    yield f"{indent}</pci>"


def _nic(nic: NicLeaf, shape: Shape, topology: Topology, indent: str) -> Iterator[str]:
    devices = vf_devices(topology, shape.rails)
    first = 2 * topology.nic_order.index(nic.bus)
    rails = [rail for rail, port in enumerate(shape.nics) if port.pci and port.pci.startswith(f"0000:{nic.bus}:")]
    yield f"{indent}<nic>"
    for port, rail in enumerate(rails, start=1):
        attributes = {
            "name": devices[rail],
            "dev": first + port - 1,
            "speed": topology.net_speed,
            "port": port,
            "latency": "0.000000",
            "guid": link_layer_guid(shape.name, nic.bus),
            "maxconn": 131072,
            "gdr": 1,
        }
        yield f"{indent}  <net {_attributes(attributes)}/>"
    yield f"{indent}</nic>"


def _gpu(index: int, topology: Topology, indent: str) -> Iterator[str]:
    yield f"{indent}<gpu {_attributes({'dev': index, 'sm': topology.gpu_sm, 'rank': index, 'gdr': 1})}>"
    links = topology.nvlinks[index % len(topology.nvlinks)]
    for target, count in (pair.split(":") for pair in links.split()):
        attributes = {"target": f"0000:{target}:00.0", "count": count, "tclass": topology.nvlink_class}
        yield f"{indent}  <nvlink {_attributes(attributes)}/>"
    yield f"{indent}</gpu>"


def _pci(bus_id: str, identity: PciIdentity, link_speed: str) -> str:
    return _attributes(
        {
            "busid": bus_id,
            "class": identity.pci_class,
            "vendor": identity.vendor,
            "device": identity.device,
            "subsystem_vendor": identity.subsystem_vendor,
            "subsystem_device": identity.subsystem_device,
            "link_speed": link_speed,
            "link_width": 16,
        }
    )


def _attributes(values: Mapping[str, object]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in values.items())
