"""PCI trees of shapes whose hosts are published, one record per row of `topologies.yaml`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fabric.model import FrozenModel


class PciIdentity(FrozenModel):
    """Class, ids and link of one kind of PCI function, written as NCCL's reader wants them (0x-prefixed hex)."""

    pci_class: str
    vendor: str
    device: str
    subsystem_vendor: str
    subsystem_device: str


class Cpu(FrozenModel):
    """Identity of the host's CPUs; family and model are decimal."""

    arch: Literal["x86_64"]
    vendor: Literal["GenuineIntel", "AuthenticAMD"]
    family_id: int
    model_id: int


class NumaNode(FrozenModel):
    """One NUMA node: its CPU ranges (inclusive) and the PCI tree below it, in the order of the file.

    The tree's notation: `XX` a bridge at bus XX, `>` child, `( , )` siblings, `NXX` the NIC at bus XX, `Gk` GPU k,
    `*` a bridge of the GPU board, `;` between several root ports.
    """

    node: int
    cpus: tuple[tuple[int, int], ...]
    tree: str


class Topology(FrozenModel):
    """Everything needed to write the NCCL topology file of a shape. `net_speed` is in Mb/s.

    `bridge_by_depth` gives the identity of bridges by depth, the last one repeating; `root_link_speed`, if given,
    replaces `link_speed` on root bridges. `cpu_mask_bits` is the width of the host kernel's CPU mask. `nic_order` lists
    NIC buses in the order of their network device numbers. `nvlinks` holds per GPU `bus:links` pairs; one entry serves
    all GPUs.
    """

    shape: str
    cpu: Cpu
    cpu_mask_bits: int = Field(ge=1)
    link_speed: str
    root_link_speed: str | None = None
    bridge_by_depth: tuple[PciIdentity, ...] = Field(min_length=1)
    gpu_board_bridge: PciIdentity | None = None
    nic: PciIdentity
    gpu: PciIdentity
    gpu_sm: int
    net_speed: int
    first_vf_device: int
    nic_order: tuple[str, ...]
    nvlink_class: str
    nvlinks: tuple[str, ...] = Field(min_length=1)
    numa: tuple[NumaNode, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _cpus_are_disjoint(self) -> Self:
        seen: set[int] = set()
        for numa in self.numa:
            for first, last in numa.cpus:
                cpus = set(range(first, last + 1))
                if cpus & seen or last >= self.cpu_mask_bits:
                    raise ValueError(
                        f"{self.shape}: CPUs {first}-{last} of NUMA node {numa.node} overlap or are absent"
                    )
                seen |= cpus
        return self
