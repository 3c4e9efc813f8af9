"""PCI trees: what a host's NCCL topology file is made from.

Those of shapes whose hosts are published are rows of `topologies.yaml`; a stack file may hold further ones.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from fabric.catalog.pci_tree import parse_tree
from fabric.model import FrozenModel

PciClass = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-f]{6}$")]
PrefixedId = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-f]{4}$")]
CpuNumber = Annotated[int, Field(ge=0, le=8191)]


def _pci_tree(value: str) -> str:
    parse_tree(value)
    return value


class PciIdentity(FrozenModel):
    """Class and ids of one kind of PCI function, as NCCL's reader wants them; it finds left-out ids in the system."""

    pci_class: PciClass = Field(description="PCI class, such as 0x060400 of a bridge, in quotes")
    vendor: PrefixedId | None = Field(default=None, description="PCI vendor id, such as 0x15b3, in quotes")
    device: PrefixedId | None = Field(default=None, description="PCI device id, in quotes")
    subsystem_vendor: PrefixedId | None = Field(default=None, description="PCI subsystem vendor id, in quotes")
    subsystem_device: PrefixedId | None = Field(default=None, description="PCI subsystem device id, in quotes")


_MADE_UP = PciIdentity(
    pci_class="0x060400", vendor="0x0000", device="0x0000", subsystem_vendor="0x0000", subsystem_device="0x0000"
)


class Cpu(FrozenModel):
    """Identity of the host's CPUs; what is left out NCCL finds in the system."""

    arch: Literal["x86_64", "arm64"] | None = Field(default=None, description="architecture of the CPUs")
    vendor: Literal["GenuineIntel", "AuthenticAMD"] | None = Field(default=None, description="who makes x86 CPUs")
    family_id: int | None = Field(default=None, ge=0, le=999, description="`cpu family` of /proc/cpuinfo, decimal")
    model_id: int | None = Field(default=None, ge=0, le=999, description="`model` of /proc/cpuinfo, decimal")


class NumaNode(FrozenModel):
    """One NUMA node: its CPU ranges (inclusive) and the PCI tree below it, in the order of the file.

    `tree` is in the notation of `fabric.catalog.pci_tree`.
    """

    node: int = Field(ge=0, le=1023, description="number of the NUMA node")
    cpus: tuple[tuple[CpuNumber, CpuNumber], ...] = Field(
        min_length=1, description="its CPUs: pairs of the first and last of a range, such as [[0, 55], [112, 167]]"
    )
    tree: Annotated[str, AfterValidator(_pci_tree)] = Field(
        description="PCI devices below it, such as 08>(0d>G0,0a>N0c): bridges by bus, GPUs by number, NICs by bus"
    )


class HostTree(FrozenModel):
    """NUMA nodes and PCI tree of a host: all that the lean form of a topology file holds.

    `bridge_by_depth` gives the identity of bridges by depth, the last one repeating. `cpu_mask_bits` is the width of
    the host kernel's CPU mask.
    """

    cpu: Cpu = Cpu()
    cpu_mask_bits: int = Field(ge=1, le=8192, description="CPUs that the kernel's masks have room for")
    link_speed: str = Field(
        min_length=1, description="speed of the PCI links, as max_link_speed in sysfs: 32.0 GT/s PCIe"
    )
    root_link_speed: str | None = Field(
        default=None, min_length=1, description="that of the uppermost bridges, where it differs"
    )
    link_width: Literal[1, 2, 4, 8, 16] = Field(default=16, description="lanes of the PCI links")
    bridge_by_depth: tuple[PciIdentity, ...] = Field(
        default=(_MADE_UP,),
        min_length=1,
        description="identity of the bridges by depth, the last one repeating; by default made-up bridges, which need "
        "addresses in a PCI domain of their own, such as ffff:01:00.0",
    )
    gpu_board_bridge: PciIdentity | None = Field(
        default=None, description="identity of the bridges that the tree marks with `*`"
    )
    nic: PciIdentity = Field(default=PciIdentity(pci_class="0x020000"), description="identity of the RDMA NICs")
    gpu: PciIdentity = Field(default=PciIdentity(pci_class="0x030200"), description="identity of the GPUs")
    numa: tuple[NumaNode, ...] = Field(min_length=1, description="the NUMA nodes that have GPUs or RDMA NICs")


class FullForm(FrozenModel):
    """What the full form of a topology file holds beside the tree; `net_speed` is in Mb/s.

    Published for few shapes, and true for no others: it fixes a file to machines that number their devices alike.
    `nic_order` lists NIC buses in the order of their network device numbers. `nvlinks` holds per GPU `bus:links` pairs;
    one entry serves all GPUs.
    """

    gpu_sm: int
    net_speed: int
    first_vf_device: int
    nic_order: tuple[str, ...]
    nvlink_class: str
    nvlinks: tuple[str, ...] = Field(min_length=1)


class Topology(HostTree):
    """The tree of a shape; `full` is None where nothing but the lean form can be written."""

    shape: str
    full: FullForm | None = None
