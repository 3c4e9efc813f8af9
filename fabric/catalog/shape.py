"""Shapes: what a machine type brings, one typed record per row of `shapes/*.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fabric.model import FrozenModel

PCI_ADDRESS = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
PCI_ID = re.compile(r"^[0-9a-f]{4}$")


def _pci_address(value: str) -> str:
    if not PCI_ADDRESS.match(value):
        raise ValueError(f"{value!r} is no PCI address; write dddd:bb:dd.f in lower case, such as 0000:0c:00.0")
    return value


def _pci_id(value: str) -> str:
    if not PCI_ID.match(value):
        raise ValueError(f"{value!r} is no PCI id; write four lower-case hex digits, such as 101e")
    return value


PciAddress = Annotated[str, AfterValidator(_pci_address)]
PciId = Annotated[str, AfterValidator(_pci_id)]


class Gpus(FrozenModel):
    """The GPUs of one node; `pci` holds one address per GPU, in GPU order."""

    vendor: Literal["nvidia"]
    model: str
    resource: str
    pci: tuple[PciAddress, ...] = Field(min_length=1)

    @property
    def count(self) -> int:
        """GPUs per node."""
        return len(self.pci)


class NicModel(FrozenModel):
    """What all RDMA NICs of a shape have in common; ids are PCI ids as the device plug-ins select by them."""

    model: str
    vendor_id: PciId
    device_id: PciId
    vf_device_id: PciId
    driver: str
    link_type: Literal["ether", "infiniband"]


class Nic(FrozenModel):
    """One RDMA physical function: the k-th of a shape is rail k on every node of that shape."""

    pci: PciAddress
    rdma_device: str
    interface: str
    nearest_gpu: int = Field(ge=0)


class FrontEndNic(FrozenModel):
    """A NIC of the cloud network; never a rail, and never to be handed to a pod."""

    pci: PciAddress
    rdma_device: str
    interface: str


class Shape(FrozenModel):
    """A machine type. `mtu` is in bytes and is what the RDMA interfaces run at on the host."""

    name: str
    provider: Literal["oci"]
    gpus: Gpus
    nic_model: NicModel
    vfs_per_nic: int = Field(ge=0)
    mtu: int = Field(ge=1280, le=9600)
    nics: tuple[Nic, ...] = Field(min_length=1)
    front_end_nics: tuple[FrontEndNic, ...] = ()

    @model_validator(mode="after")
    def _rows_agree(self) -> Self:
        every: list[Nic | FrontEndNic] = [*self.nics, *self.front_end_nics]
        for field in ("pci", "rdma_device", "interface"):
            values = [getattr(nic, field) for nic in every]
            repeated = sorted({value for value in values if values.count(value) > 1})
            if repeated:
                raise ValueError(f"{self.name}: {field} given to two NICs: {', '.join(repeated)}")
        if clash := sorted({nic.pci for nic in every} & set(self.gpus.pci)):
            raise ValueError(f"{self.name}: PCI address of a GPU and of a NIC: {', '.join(clash)}")
        if len(set(self.gpus.pci)) != self.gpus.count:
            raise ValueError(f"{self.name}: a GPU's PCI address is listed twice")
        for rail, nic in enumerate(self.nics):
            if nic.nearest_gpu >= self.gpus.count:
                raise ValueError(f"{self.name}: rail {rail} names GPU {nic.nearest_gpu} of {self.gpus.count}")
        return self

    @property
    def rails(self) -> int:
        """RDMA NICs per node."""
        return len(self.nics)
