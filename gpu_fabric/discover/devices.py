"""PCI devices that are RDMA NICs or GPUs (`devices.yaml`), and what the names of GPUs say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog.shape import Vendor
from gpu_fabric.model import FrozenModel

# What NVIDIA and AMD call their accelerators: H100, A100-SXM4-80GB, GB200, L40S, RTX PRO 6000, MI300X.
_MODEL = re.compile(r"\b(RTX PRO [0-9]{4}|GB[0-9]{3}|MI[0-9]{3}[AX]?|[ABHV][0-9]{2,3}|[LT][0-9]{1,2}S?)\b")
_MEMORY = re.compile(r"\b([0-9]{2,3}) ?GB\b")
_GPU_VENDORS: dict[str, Vendor] = {"10de": "nvidia", "1002": "amd"}
_DISPLAY = {"10de": ("0300", "0302"), "1002": ("0302", "0380", "1200")}


class NicDevice(FrozenModel):
    """A physical function: its ids, the words that lspci prints, the id of its virtual functions, its driver."""

    vendor: str
    device: str
    model: str
    printed: str
    vf: str
    driver: str


class GpuDevice(FrozenModel):
    """A GPU by its ids."""

    vendor: str
    device: str
    model: str
    memory_gb: int | None = None


class DeviceTable(FrozenModel):
    """`devices.yaml`."""

    vendors: dict[str, tuple[str, ...]]
    classes: dict[str, str]
    nics: tuple[NicDevice, ...]
    gpus: tuple[GpuDevice, ...]

    def vendor_of(self, name: str) -> str | None:
        """The vendor's id by the name that lspci prints."""
        return next((number for number, names in self.vendors.items() if name.startswith(names)), None)

    def nic(self, vendor: str | None, device: str | None) -> NicDevice | None:
        """The NIC with these ids."""
        return next((row for row in self.nics if (row.vendor, row.device) == (vendor, device)), None)

    def nic_printed(self, vendor: str | None, name: str) -> NicDevice | None:
        """The NIC that lspci prints with this name."""
        return next((row for row in self.nics if row.vendor == vendor and row.printed in name), None)

    def is_virtual(self, vendor: str | None, device: str | None, name: str) -> bool:
        """Whether a function is a virtual one."""
        return "Virtual Function" in name or any((row.vendor, row.vf) == (vendor, device) for row in self.nics)

    def gpu(self, vendor: str | None, device: str | None) -> GpuDevice | None:
        """The GPU with these ids."""
        return next((row for row in self.gpus if (row.vendor, row.device) == (vendor, device)), None)


@cache
def device_table() -> DeviceTable:
    """The table of this checkout."""
    return DeviceTable.model_validate(read_table(Path(__file__).with_name("devices.yaml")))


def is_gpu(vendor: str | None, pci_class: str | None) -> bool:
    """Whether a PCI function of this vendor and class is a GPU; graphics of a board's management are not."""
    return pci_class in _DISPLAY.get(vendor or "", ())


def gpu_vendor(pci_vendor: str) -> Vendor | None:
    """The vendor of GPUs by its PCI id; None for a vendor that this program does not know."""
    return _GPU_VENDORS.get(pci_vendor)


def gpu_model(name: str) -> str | None:
    """The model in a GPU's name, such as H100 in `NVIDIA H100 80GB HBM3`, and in `NVIDIA Corporation GH100 [H100]`."""
    for text in (*re.findall(r"\[([^\]]*)\]", name), name):
        if found := _MODEL.search(text):
            return found[1]
    return None


def gpu_memory(name: str) -> int | None:
    """The memory in a GPU's name, in GB."""
    found = _MEMORY.search(name)
    return int(found[1]) if found else None
