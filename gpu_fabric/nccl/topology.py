"""NCCL and RCCL topology files from PCI trees.

The files are for the libraries' own reader, not for XML parsers: no prolog, one tag a line, double quotes, LF, no tabs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gpu_fabric.catalog import Shape, Topology
from gpu_fabric.catalog.shape import (
    Branch,
    Bridge,
    FullForm,
    GpuLeaf,
    NicLeaf,
    NumaNode,
    PciIdentity,
    adapter_of,
    parse_tree,
)
from nccl_topology.dialect import Dialect, Library, dialect, library_of


class Form(StrEnum):
    """The content of a file: only NUMA nodes and PCI devices, or also ports and links as Oracle published them."""

    LEAN = "lean"
    FULL = "full"


def cpu_bits(numa: NumaNode) -> int:
    """The CPUs of a NUMA node as a number, bit n for CPU n."""
    mask = 0
    for first, last in numa.cpus:
        mask |= ((1 << (last - first + 1)) - 1) << first
    return mask


def cpu_mask(numa: NumaNode, bits: int) -> str:
    """The CPU mask of a NUMA node as comma-separated 32-bit hex words, most significant first."""
    mask = cpu_bits(numa)
    words = [f"{(mask >> shift) & 0xFFFFFFFF:08x}" for shift in range(0, bits, 32)]
    return ",".join(reversed(words))


def vf_devices(full: FullForm, rails: int) -> tuple[str, ...]:
    """RDMA device name of each rail's first virtual function, in rail order.

    The hosts number them after the physical ones, in the text order of the interface names rdma0, rdma1, rdma10, …
    (source: the boot script that came with the OKE guide creates them in that order).
    """
    interfaces = [f"rdma{rail}" for rail in range(rails)]
    created = sorted(interfaces)
    return tuple(f"mlx5_{full.first_vf_device + created.index(interface)}" for interface in interfaces)


def link_layer_guid(shape: str, bus: str) -> str:
    """A generated GUID for an adapter: unique per shape and bus, the same for both ports, and stable."""
    return "0x" + hashlib.sha256(f"{shape}/{bus}".encode()).hexdigest()[:16]


def topology_xml(shape: Shape, topology: Topology, form: Form | None = None, library: Library | None = None) -> str:
    """The topology file of a shape; text with a final newline.

    Defaults: the full form if it is published, and the library of the shape's GPUs. The full form names every port by
    the RDMA device of its virtual function, so that NCCL finds the PCI location of devices that a pod cannot see in its
    own sysfs; it keeps the order of the published file. The lean form is sorted by NUMA node and address.

    Raises:
        ValueError: the shape's PCI addresses are not known, or its tree has no full form.
    """
    if not shape.gpus.pci or not shape.nics or any(nic.pci is None for nic in shape.nics):
        raise ValueError(f"{shape.name}: a topology file needs the PCI addresses of all GPUs and RDMA NICs")
    full = None if form is Form.LEAN else topology.full
    if form is Form.FULL and full is None:
        raise ValueError(f"{shape.name}: the full form is not published; write the lean one")
    writer = _Writer(shape, topology, full, dialect(library or library_of(shape.gpus.vendor)))
    return "\n".join(writer.system().lines()) + "\n"


class _Tag(NamedTuple):
    name: str
    attributes: Mapping[str, object]
    children: Sequence[_Tag] = ()

    def lines(self, indent: str = "") -> Iterator[str]:
        """The tag in the form that the reader accepts, without attributes that the library fills in."""
        tag = " ".join(
            [self.name, *(f'{name}="{value}"' for name, value in self.attributes.items() if value is not None)]
        )
        if not self.children:
            yield f"{indent}<{tag}/>"
            return
        yield f"{indent}<{tag}>"
        for child in self.children:
            yield from child.lines(f"{indent}  ")
        yield f"{indent}</{self.name}>"


@dataclass(frozen=True)
class _Writer:
    shape: Shape
    topology: Topology
    full: FullForm | None
    by: Dialect

    def system(self) -> _Tag:
        numa_nodes = self.topology.numa
        ordered = numa_nodes if self.full else sorted(numa_nodes, key=lambda each: each.node)
        return _Tag("system", {"version": self.by.format.format_version}, [self._cpu(numa) for numa in ordered])

    def _cpu(self, numa: NumaNode) -> _Tag:
        cpu = self.topology.cpu
        attributes = {
            "numaid": numa.node,
            "affinity": cpu_mask(numa, self.topology.cpu_mask_bits),
            "arch": cpu.arch,
            "vendor": cpu.vendor,
            "familyid": cpu.family_id,
            "modelid": cpu.model_id,
        }
        return _Tag("cpu", attributes, self._pci_of(parse_tree(numa.tree), 0))

    def _pci_of(self, siblings: Sequence[Branch], depth: int) -> list[_Tag]:
        ordered = siblings if self.full else sorted(siblings, key=self._address)
        return [self._pci(element, depth) for element in ordered]

    def _address(self, element: Branch) -> str:
        if isinstance(element, GpuLeaf):
            return self.shape.gpus.pci[element.index]
        if isinstance(element, Bridge):
            return element.address
        # A lean file has one element per adapter, at the address of its first port.
        ports = [nic.pci for nic in self.shape.nics if nic.pci and adapter_of(nic.pci) == adapter_of(element.address)]
        return min(ports, default=element.address)

    def _pci(self, element: Branch, depth: int) -> _Tag:
        identity, topology = self._identity(element, depth), self.topology
        is_root = isinstance(element, Bridge) and depth == 0
        attributes = {
            "busid": self._address(element),
            "class": identity.pci_class,
            "vendor": identity.vendor,
            "device": identity.device,
            "subsystem_vendor": identity.subsystem_vendor,
            "subsystem_device": identity.subsystem_device,
            "link_speed": (topology.root_link_speed if is_root else None) or topology.link_speed,
            "link_width": topology.link_width,
        }
        below: list[_Tag] = []
        if isinstance(element, Bridge):
            below = self._pci_of(element.children, depth + 1)
        elif self.full is not None:
            below = [self._nic(element, self.full) if isinstance(element, NicLeaf) else self._gpu(element, self.full)]
        return _Tag("pci", attributes, below)

    def _identity(self, element: Branch, depth: int) -> PciIdentity:
        topology = self.topology
        if isinstance(element, NicLeaf):
            return topology.nic
        if isinstance(element, GpuLeaf):
            return topology.gpu
        if element.gpu_board and topology.gpu_board_bridge is not None:
            return topology.gpu_board_bridge
        return topology.bridge_by_depth[min(depth, len(topology.bridge_by_depth) - 1)]

    def _nic(self, nic: NicLeaf, full: FullForm) -> _Tag:
        devices = vf_devices(full, self.shape.rails)
        bus = nic.address.split(":")[1]
        first = 2 * full.nic_order.index(bus)
        adapter = adapter_of(nic.address)
        rails = [rail for rail, port in enumerate(self.shape.nics) if port.pci and adapter_of(port.pci) == adapter]
        ports = [
            {
                "name": devices[rail],
                "dev": first + port - 1,
                "speed": full.net_speed,
                "port": port,
                "latency": "0.000000",
                "guid": link_layer_guid(self.shape.name, bus),
                "maxconn": 131072,
                "gdr": 1,
            }
            for port, rail in enumerate(rails, start=1)
        ]
        return _Tag("nic", {}, [_Tag("net", attributes) for attributes in ports])

    def _gpu(self, gpu: GpuLeaf, full: FullForm) -> _Tag:
        # RCCL reads no NVLinks; without links in the file it detects them itself.
        links = full.nvlinks[gpu.index % len(full.nvlinks)].split() if "nvlink" in self.by.children_of("gpu") else []
        attributes = (
            {"target": f"0000:{target}:00.0", "count": count, "tclass": full.nvlink_class}
            for target, count in (pair.split(":") for pair in links)
        )
        own = {"dev": gpu.index, "sm": full.gpu_sm, "rank": gpu.index, "gdr": 1}
        return _Tag("gpu", own, [_Tag("nvlink", each) for each in attributes])
