"""Shapes: what a machine type brings, one typed record per row of `shapes/*.yaml`.

A fact that its vendor does not publish is absent (None, or an empty tuple), never guessed.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fabric.catalog.topology import HostTree
from fabric.model import FrozenModel

PCI_ADDRESS = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
PCI_ID = re.compile(r"^[0-9a-f]{4}$")
INTERFACE = re.compile(r"^[A-Za-z0-9_.-]{1,15}$")


def _pci_address(value: str) -> str:
    if not PCI_ADDRESS.match(value):
        raise ValueError(f"{value!r} is no PCI address; write dddd:bb:dd.f in lower case, such as 0000:0c:00.0")
    return value


def _pci_id(value: str) -> str:
    if not PCI_ID.match(value):
        raise ValueError(f"{value!r} is no PCI id; write four lower-case hex digits, such as 101e")
    return value


def _interface(value: str) -> str:
    if not INTERFACE.match(value):
        raise ValueError(f"{value!r} is no interface name; write at most 15 letters, digits, '_', '-' and '.'")
    return value


PciAddress = Annotated[str, AfterValidator(_pci_address)]
PciId = Annotated[str, AfterValidator(_pci_id)]
InterfaceName = Annotated[str, AfterValidator(_interface)]
CLOUD_SHAPES = {"doks": "doks", "oke": "oci"}
"""Whose machine types the clusters of a provider have; a cluster that exists may have any."""

ShapeProvider = Literal["oci", "doks", "server", "inline"]
Vendor = Literal["nvidia", "amd"]
LinkType = Literal["ether", "infiniband"]


class Gpus(FrozenModel):
    """The GPUs of one node. `pci` holds one address per GPU, in GPU order; empty where none are published."""

    vendor: Vendor = Field(description="who makes the GPUs")
    model: str | None = Field(default=None, min_length=1, description="GPU model, such as H100")
    count: int = Field(ge=1, description="GPUs per node")
    memory_gb: int | None = Field(default=None, ge=1, description="memory of one GPU in GB")
    pci: tuple[PciAddress, ...] = Field(default=(), description="PCI address of each GPU, in GPU order")

    @property
    def resource(self) -> str:
        """The extended resource that the vendor's device plug-in advertises."""
        return f"{self.vendor}.com/gpu"


class NicModel(FrozenModel):
    """What all RDMA NICs of a shape have in common; ids are PCI ids as the device plug-ins select by them."""

    model: str | None = Field(default=None, min_length=1, description="NIC model, such as ConnectX-7")
    vendor_id: PciId | None = Field(default=None, description="PCI vendor id, four hex digits")
    device_id: PciId | None = Field(default=None, description="PCI device id of a physical function")
    vf_device_id: PciId | None = Field(default=None, description="PCI device id of a virtual function")
    driver: str | None = Field(default=None, description="kernel driver, such as mlx5_core")
    link_type: LinkType = Field(description="`ether` (RoCE) or `infiniband`")


class Nic(FrozenModel):
    """One RDMA physical function: the k-th of a shape is rail k on every node of that shape."""

    pci: PciAddress | None = Field(default=None, description="PCI address")
    rdma_device: str | None = Field(default=None, description="RDMA device, such as mlx5_0")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")
    nearest_gpu: int | None = Field(default=None, ge=0, description="number of the GPU it shares a PCI switch with")


class FrontEndNic(FrozenModel):
    """A NIC of the cloud network; never a rail, and never to be handed to a pod."""

    pci: PciAddress | None = Field(default=None, description="PCI address")
    rdma_device: str | None = Field(default=None, description="RDMA device, such as mlx5_2")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")


class Hardware(FrozenModel):
    """What a machine has, whoever offers it.

    `mtu` is in bytes and is what the RDMA interfaces run at on the host; `nic_speed_gbps` is the line rate of one RDMA
    NIC in Gb/s; `vfs_per_nic` counts virtual functions per RDMA NIC that are there when a node joins.
    """

    gpus: Gpus
    nic_model: NicModel | None = Field(default=None, description="the RDMA NICs' common facts")
    vfs_per_nic: int = Field(default=0, ge=0, le=128, description="virtual functions per RDMA NIC on a fresh node")
    mtu: int | None = Field(default=None, ge=1280, le=9216, description="bytes; MTU of the RDMA interfaces on the host")
    nic_speed_gbps: int | None = Field(default=None, ge=1, description="line rate of one RDMA NIC in Gb/s")
    nics: tuple[Nic, ...] = Field(default=(), description="the RDMA NICs; the k-th is rail k")
    front_end_nics: tuple[FrontEndNic, ...] | None = Field(
        default=None, description="NICs of the node network; left out where unknown"
    )
    topology: HostTree | None = Field(
        default=None, description="NUMA nodes and PCI tree of the host, from which the NCCL topology file is made"
    )

    @model_validator(mode="after")
    def _rows_agree(self) -> Self:
        every: list[Nic | FrontEndNic] = [*self.nics, *(self.front_end_nics or ())]
        for field in ("pci", "rdma_device", "interface"):
            values = [value for nic in every if (value := getattr(nic, field)) is not None]
            if repeated := sorted({value for value in values if values.count(value) > 1}):
                raise ValueError(f"{field} given to two NICs: {', '.join(repeated)}")
            on_rails = [getattr(nic, field) for nic in self.nics]
            if any(on_rails) and not all(on_rails):
                raise ValueError(f"{field} is given for some RDMA NICs only; give it for all or for none")
        if clash := sorted({nic.pci for nic in every if nic.pci} & set(self.gpus.pci)):
            raise ValueError(f"PCI address of a GPU and of a NIC: {', '.join(clash)}")
        if self.gpus.pci and len(set(self.gpus.pci)) != self.gpus.count:
            raise ValueError(f"{len(set(self.gpus.pci))} different PCI addresses for {self.gpus.count} GPUs")
        for rail, nic in enumerate(self.nics):
            if nic.nearest_gpu is not None and nic.nearest_gpu >= self.gpus.count:
                raise ValueError(f"rail {rail} names GPU {nic.nearest_gpu} of {self.gpus.count}, counted from 0")
        if self.nics and self.nic_model is None:
            raise ValueError("RDMA NICs are listed, but nicModel is missing")
        if self.vfs_per_nic and not self.nics:
            raise ValueError("virtual functions without RDMA NICs")
        return self

    @property
    def rails(self) -> int:
        """RDMA NICs per node."""
        return len(self.nics)

    @property
    def hca_list(self) -> str | None:
        """`NCCL_IB_HCA` for a pod that sees the physical functions: exact names in rail order after one `=`.

        None where the RDMA devices' names are not published. Without the `=` NCCL matches prefixes, and mlx5_1 would
        also name mlx5_10 to mlx5_19 (source: NCCL manual, NCCL_IB_HCA).
        """
        names = [nic.rdma_device for nic in self.nics if nic.rdma_device is not None]
        return "=" + ",".join(names) if names else None


class DoksSize(FrozenModel):
    """What DigitalOcean says about a GPU size. `regions` lists those seen; empty means not published."""

    offer: Literal["on-demand", "contracted", "spot"]
    multi_node: bool
    liquid_cooled: bool = False
    fabric: Literal["rail-only", "rail-optimized"] | None = None
    regions: tuple[str, ...] = ()
    vcpus: int | None = Field(default=None, ge=1)
    memory_gib: int | None = Field(default=None, ge=1)


class Shape(Hardware):
    """A machine type of the catalog.

    `vf_support` is what its vendor says about virtual functions: `preview` (shipped, off by default), `experimental`
    (a branch only), `none`, or `host` (whoever runs the machine makes them). `known` is False for a size that fits the
    provider's grammar but has no row. `notes` hold corrected defects of the sources, `advice` is for whoever writes
    jobs.
    """

    name: str
    provider: ShapeProvider
    vf_support: Literal["preview", "experimental", "none", "host"] = "none"
    doks: DoksSize | None = None
    known: bool = True
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _provider_fits(self) -> Self:
        if (self.provider == "doks") != (self.doks is not None):
            raise ValueError(f"{self.name}: the section `doks` belongs to provider doks, and to no other")
        if self.vfs_per_nic and self.vf_support == "none":
            raise ValueError(f"{self.name}: virtual functions are counted, but vfSupport is none")
        return self
