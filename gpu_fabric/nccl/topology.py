"""NCCL and RCCL topology files from PCI trees.

The files are for the libraries' own reader, not for XML parsers: no prolog, one tag a line, double quotes, LF, no tabs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.catalog import FullForm, NumaNode, PciIdentity, Shape, Topology
from gpu_fabric.catalog.shape import Branch, Bridge, GpuLeaf, NicLeaf, adapter_of, parse_tree
from gpu_fabric.nccl.dialect import Dialect, Library, dialect, library_for


class Form(StrEnum):
    """The content of a file: only NUMA nodes and PCI devices, or also ports and links as Oracle published them."""

    LEAN = "lean"
    FULL = "full"


def usual_form(topology: Topology) -> Form:
    """The full form if it is published, the lean form if not."""
    return Form.LEAN if topology.full is None else Form.FULL


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

    Defaults: the usual form, and the library of the shape's GPUs. The full form names every port by the RDMA device of
    its virtual function, so that NCCL finds the PCI location of devices that a pod cannot see in its own sysfs; it
    keeps the order of the published file. The lean form is sorted by NUMA node and address.

    Raises:
        ValueError: the shape's PCI addresses are not known, or its tree has no full form.
    """
    if not shape.gpus.pci or not shape.nics or any(nic.pci is None for nic in shape.nics):
        raise ValueError(f"{shape.name}: a topology file needs the PCI addresses of all GPUs and RDMA NICs")
    full = None if (form or usual_form(topology)) is Form.LEAN else topology.full
    if form is Form.FULL and full is None:
        raise ValueError(f"{shape.name}: the full form is not published; write the lean one")
    return "\n".join(_Writer(shape, topology, full, dialect(library or library_for(shape))).lines()) + "\n"


@dataclass(frozen=True)
class _Writer:
    shape: Shape
    topology: Topology
    full: FullForm | None
    by: Dialect

    def lines(self) -> Iterator[str]:
        numa_nodes = self.topology.numa
        yield f'<system version="{self.by.format.format_version}">'
        for numa in numa_nodes if self.full else sorted(numa_nodes, key=lambda each: each.node):
            roots = parse_tree(numa.tree)
            yield f"  <cpu {_attributes(self._cpu(numa))}>"
            for root in self._ordered(roots):
                yield from self._element(root, 0)
            yield "  </cpu>"
        yield "</system>"

    def _cpu(self, numa: NumaNode) -> dict[str, object]:
        cpu = self.topology.cpu
        return {
            "numaid": numa.node,
            "affinity": cpu_mask(numa, self.topology.cpu_mask_bits),
            "arch": cpu.arch,
            "vendor": cpu.vendor,
            "familyid": cpu.family_id,
            "modelid": cpu.model_id,
        }

    def _ordered(self, siblings: tuple[Branch, ...]) -> tuple[Branch, ...]:
        return siblings if self.full else tuple(sorted(siblings, key=self._address))

    def _address(self, element: Branch) -> str:
        if isinstance(element, GpuLeaf):
            return self.shape.gpus.pci[element.index]
        if isinstance(element, Bridge):
            return element.address
        # A lean file has one element per adapter, at the address of its first port.
        ports = [nic.pci for nic in self.shape.nics if nic.pci and adapter_of(nic.pci) == adapter_of(element.address)]
        return min(ports, default=element.address)

    def _element(self, element: Branch, depth: int) -> Iterator[str]:
        indent = "  " * (depth + 2)
        tag = f"{indent}<pci {_attributes(self._pci(element, depth))}"
        below = list(self._below(element, depth))
        if below:
            yield from (f"{tag}>", *below, f"{indent}</pci>")
        else:
            yield f"{tag}/>"

    def _below(self, element: Branch, depth: int) -> Iterator[str]:
        indent = "  " * (depth + 3)
        if isinstance(element, Bridge):
            for child in self._ordered(element.children):
                yield from self._element(child, depth + 1)
        elif self.full is not None and isinstance(element, NicLeaf):
            yield from self._nic(element, self.full, indent)
        elif self.full is not None and isinstance(element, GpuLeaf):
            yield from self._gpu(element.index, self.full, indent)

    def _pci(self, element: Branch, depth: int) -> dict[str, object]:
        identity, topology = self._identity(element, depth), self.topology
        is_root = isinstance(element, Bridge) and depth == 0
        return {
            "busid": self._address(element),
            "class": identity.pci_class,
            "vendor": identity.vendor,
            "device": identity.device,
            "subsystem_vendor": identity.subsystem_vendor,
            "subsystem_device": identity.subsystem_device,
            "link_speed": (topology.root_link_speed if is_root else None) or topology.link_speed,
            "link_width": topology.link_width,
        }

    def _identity(self, element: Branch, depth: int) -> PciIdentity:
        topology = self.topology
        if isinstance(element, NicLeaf):
            return topology.nic
        if isinstance(element, GpuLeaf):
            return topology.gpu
        if element.gpu_board and topology.gpu_board_bridge is not None:
            return topology.gpu_board_bridge
        return topology.bridge_by_depth[min(depth, len(topology.bridge_by_depth) - 1)]

    def _nic(self, nic: NicLeaf, full: FullForm, indent: str) -> Iterator[str]:
        devices = vf_devices(full, self.shape.rails)
        bus = nic.address.split(":")[1]
        first = 2 * full.nic_order.index(bus)
        adapter = adapter_of(nic.address)
        rails = [rail for rail, port in enumerate(self.shape.nics) if port.pci and adapter_of(port.pci) == adapter]
        yield f"{indent}<nic>"
        for port, rail in enumerate(rails, start=1):
            attributes: dict[str, object] = {
                "name": devices[rail],
                "dev": first + port - 1,
                "speed": full.net_speed,
                "port": port,
                "latency": "0.000000",
                "guid": link_layer_guid(self.shape.name, bus),
                "maxconn": 131072,
                "gdr": 1,
            }
            yield f"{indent}  <net {_attributes(attributes)}/>"
        yield f"{indent}</nic>"

    def _gpu(self, index: int, full: FullForm, indent: str) -> Iterator[str]:
        # RCCL reads no NVLinks; without links in the file it detects them itself.
        links = full.nvlinks[index % len(full.nvlinks)].split() if "nvlink" in self.by.children_of("gpu") else []
        tag = f"{indent}<gpu {_attributes({'dev': index, 'sm': full.gpu_sm, 'rank': index, 'gdr': 1})}"
        if not links:
            yield f"{tag}/>"
            return
        yield f"{tag}>"
        for target, count in (pair.split(":") for pair in links):
            attributes = {"target": f"0000:{target}:00.0", "count": count, "tclass": full.nvlink_class}
            yield f"{indent}  <nvlink {_attributes(attributes)}/>"
        yield f"{indent}</gpu>"


def _attributes(values: Mapping[str, object]) -> str:
    """Attributes in the form that the reader accepts, without those that the library fills in."""
    return " ".join(f'{name}="{value}"' for name, value in values.items() if value is not None)
